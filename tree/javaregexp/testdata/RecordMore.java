import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Says what Java 17 makes of regular expressions that need to go back, as RecordRegexps.java does of the others, and needs no
 * library. A line of input is {"pattern":"…","values":["…"]}; what follows in a line is not read, so the output can be recorded again:
 *
 *   java RecordMore.java < more.jsonl > again.jsonl
 */
public class RecordMore {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    PrintStream out = new PrintStream(System.out, true, "UTF-8");
    for (String line; (line = in.readLine()) != null; ) {
      List<String> texts = textsOf(line);
      String pattern = texts.get(0);
      List<String> values = texts.subList(1, texts.size());
      out.println("{\"pattern\":" + quote(pattern) + ",\"values\":" + list(values) + "," + record(pattern, values) + "}");
    }
  }

  static String record(String pattern, List<String> values) {
    StringBuilder groups = new StringBuilder();
    StringBuilder pieces = new StringBuilder();
    try {
      Pattern p = Pattern.compile(pattern);
      for (String value : values) {
        Matcher m = p.matcher(value);
        List<String> found = null;
        if (m.find()) {
          found = new ArrayList<>();
          for (int i = 0; i <= m.groupCount(); i++) {
            found.add(m.group(i));
          }
        }
        groups.append(groups.length() == 0 ? "" : ",").append(list(found));
        pieces.append(pieces.length() == 0 ? "" : ",").append(list(List.of(value.split(pattern))));
      }
    } catch (Exception e) {
      return "\"error\":" + quote(String.valueOf(e.getMessage()).split("\n")[0]);
    }
    return "\"groups\":[" + groups + "],\"pieces\":[" + pieces + "]";
  }

  static String list(List<String> texts) {
    if (texts == null) {
      return "null";
    }
    StringBuilder b = new StringBuilder("[");
    for (String t : texts) {
      b.append(b.length() == 1 ? "" : ",").append(t == null ? "null" : quote(t));
    }
    return b.append("]").toString();
  }

  static String quote(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : s.toCharArray()) {
      if (c == '"' || c == '\\') {
        b.append('\\').append(c);
      } else if (c < ' ' || c == 0x7F || c >= 0x2028 && c <= 0x2029 || c >= 0xD800 && c < 0xE000 || c == 0x85) {
        b.append(String.format("\\u%04X", (int) c));
      } else {
        b.append(c);
      }
    }
    return b.append('"').toString();
  }

  /** Returns the pattern and the values of a line. */
  static List<String> textsOf(String line) {
    List<String> texts = new ArrayList<>();
    StringBuilder text = null;
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (text == null) {
        if (c == ']') {
          break;
        }
        if (c == '"') {
          text = new StringBuilder();
        }
      } else if (c == '"') {
        texts.add(text.toString());
        text = null;
      } else if (c != '\\') {
        text.append(c);
      } else if ((c = line.charAt(++i)) == 'u') {
        text.append((char) Integer.parseInt(line.substring(i + 1, i + 5), 16));
        i += 4;
      } else {
        text.append("ntrbf".indexOf(c) < 0 ? c : "\n\t\r\b\f".charAt("ntrbf".indexOf(c)));
      }
    }
    texts.remove(2); // the key "values"
    texts.remove(0); // and "pattern"
    return texts;
  }
}
