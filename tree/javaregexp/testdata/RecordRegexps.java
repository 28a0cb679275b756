import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Says what Java 17 makes of regular expressions. A line of input is a JSON object with a pattern and values; a line of output adds
 * error, or for each value the groups of the first match (null without one) and the pieces of String.split. Run it as RecordRoutes.java.
 */
public class RecordRegexps {
  public static void main(String[] args) throws Exception {
    ObjectMapper json = new ObjectMapper();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    java.io.PrintStream out = new java.io.PrintStream(System.out, true, "UTF-8");
    for (String line; (line = in.readLine()) != null; ) {
      ObjectNode c = (ObjectNode) json.readTree(line);
      try {
        Pattern p = Pattern.compile(c.get("pattern").asText());
        ArrayNode groups = json.createArrayNode();
        ArrayNode pieces = json.createArrayNode();
        for (JsonNode value : c.get("values")) {
          Matcher m = p.matcher(value.asText());
          if (m.find()) {
            ArrayNode found = groups.addArray();
            for (int i = 0; i <= m.groupCount(); i++) {
              found.add(m.group(i));
            }
          } else {
            groups.addNull();
          }
          pieces.add(json.valueToTree(value.asText().split(p.pattern())));
        }
        c.set("groups", groups);
        c.set("pieces", pieces);
      } catch (Exception e) {
        c.put("error", e.getMessage().split("\n")[0]);
      }
      out.println(json.writeValueAsString(c));
    }
  }
}
