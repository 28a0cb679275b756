// Prints how the JSON of a TSD 2.4.1 (net.opentsdb.utils.JSON, with its own Jackson on the class path) reads values into
// Java's types, and documents. Lines: type, JSON, what was read as JSON or "error"; in the escapes of JSON.
import net.opentsdb.utils.JSON;
import java.util.*;

public class Record {
  public static class All {
    public String s = "unset"; public boolean b; public int i = 7; public long l = 7; public double d = 7; public Float f; public List<String> ls; public List<Float> lf;
    public Map<String, String> ms; public All o; public List<All> lo;
  }
  static final String[] SCALARS = {"null", "true", "false", "0", "1", "-1", "2", "1.0", "1.5", "-1.9", "0.1", "1e2", "1E-2", "12345678901", "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "1e18", "1e19", "1e400", "3.5e38", "123456789012345678901234567890", "0.00001", "NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "+INF", "-0", "-0.0", "\"\"", "\" \"", "\"a\"", "\"null\"", "\" null \"", "\"true\"",
    "\"false\"", "\"True\"", "\"TRUE\"", "\"tRUE\"", "\"False\"", "\"FALSE\"", "\" true \"", "\"yes\"", "\"0\"", "\"1\"", "\"2\"", "\" 2 \"", "\"+2\"", "\"-2\"", "\"02\"", "\"2.0\"", "\"2.5\"", "\"1e2\"", "\"2147483648\"", "\"9223372036854775808\"",
    "\"0x10\"", "\"1_000\"", "\"2d\"", "\"2f\"", "\"2L\"", "\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "\"INF\"", "\"-INF\"", "\"+INF\"", "\"nan\"", "\".5\"", "\"5.\"", "\"\\u0031\"", "\"\\u00e9\\n\"", "{}", "[]", "{\"a\":1}", "[1]", "[\"a\"]", "[null]", "[true,2]"};
  static final String[] LISTS = {"null", "[]", "[null]", "[1,true,null,\"a\",1.50]", "[[]]", "[[\"a\"]]", "[{}]", "\"a\"", "\"\"", "1", "true", "{}", "[\"1\",\"1.5\",\"\",\"x\"]", "[\"1\",\" 1.5 \",\"\"]", "[1,2.5,null]", "[\"NaN\",NaN]"};
  static final String[] MAPS = {"null", "{}", "{\"a\":null}", "{\"a\":1,\"b\":true,\"c\":1.50,\"d\":\"x\"}", "{\"a\":1,\"a\":2}", "{\"a\":{}}", "{\"a\":[]}", "[]", "\"\"", "\"a\"", "1", "{\"\":\"\"}", "{\"a\":\"1\",\"a\":null}"};
  static final String[] DOCUMENTS = {"", " ", "null", "{}", "[]", "1", "\"a\"", "\"\"", "true", "{\"i\":1}", " \n\t\r{\"i\":1}\n", "{\"i\":1}x", "{\"i\":1} x", "{\"i\":1}{\"i\":2}", "{\"i\":1} {\"i\":2}", "{\"i\":1},", "{\"i\":1}]", "{\"i\":1}}", "\ufeff{\"i\":1}", "\u00a0{\"i\":1}",
    "x{\"i\":1}", "{\"i\":1,\"i\":2}", "{\"i\":1,\"i\":null}", "{\"I\":1}", "{\"x\":1}", "{\"i\":1,}", "{,\"i\":1}", "{\"i\":1", "{\"i\":", "{\"i\"", "{", "{\"i\" 1}", "{'i':1}", "{i:1}", "{\"i\":01}", "{\"i\":00}", "{\"i\":-01}", "{\"i\":+1}", "{\"i\":.5}", "{\"i\":5.}", "{\"i\":1e}",
    "{\"i\":0x1}", "{\"i\":1/*c*/}", "/*c*/{\"i\":1}", "//c\n{\"i\":1}", "#c\n{\"i\":1}", "{\"s\":\"a\nb\"}", "{\"s\":\"a\tb\"}", "{\"s\":\"a\\qb\"}", "{\"s\":\"a\\'b\"}", "{\"s\":\"\\u12\"}", "{\"s\":\"\\ud83d\"}", "{\"s\":\"\\ud83d\\ude00\"}", "{\"s\":\"a\u0000b\"}", "{\"s\":\"\\u0000\"}",
    "{\"s\":\"a\\/b\"}", "{\"s\":'a'}", "{\"s\":nan}", "{\"s\":tru}", "{\"s\":nul}", "{\"s\":nulll}", "{\"s\":trueish}", "{\"s\":undefined}", "{\"\\u0069\":3}", "{\"i\":1 \"l\":2}", "{\"o\":{\"i\":1}}", "{\"o\":null}", "{\"o\":\"\"}", "{\"o\":\"a\"}", "{\"o\":[]}", "{\"o\":1}", "{\"o\":[{}]}",
    "{\"lo\":[{\"i\":1},null]}", "{\"lo\":{\"i\":1}}", "{\"lo\":null}", "{\"lo\":[1]}", "{\"lo\":[\"\"]}", "{\"lo\":[]}", "[{\"i\":1}]", "{\"i\":1}\u0000", "{\"s\":\"\u007f\u0085\u2028\"}", "{\"i\":1,/**/\"l\":2}", "{\"o\":{\"o\":{\"o\":{}}}}", "{\"i\":9e9}", "{\"b\":1.0}", "{\"i\":\"1\"}trailing \"text\""};
  static String quote(String s) {
    StringBuilder b = new StringBuilder();
    for (char c : s.toCharArray()) b.append(c == '\\' ? "\\\\" : c < 32 || c > 126 ? String.format("\\u%04x", (int) c) : "" + c);
    return b.toString();
  }
  static void line(String kind, String json, String whole) {
    String got;
    try {
      All a = JSON.parseToObject(whole, All.class);
      if (a == null) got = "null";
      else {
        Map<String, Object> m = new TreeMap<>();
        for (String k : kind.equals("doc") ? "s b i l d f ls lf ms o lo".split(" ") : new String[]{kind}) m.put(k, All.class.getField(k).get(a));
        Object v = kind.equals("doc") ? m : m.get(kind);
        got = v == null ? "null" : JSON.serializeToString(v);
      }
    } catch (Throwable e) { got = "error"; }
    System.out.println(kind + "\t" + quote(json) + "\t" + quote(got));
  }
  public static void main(String[] args) {
    for (String k : "s b i l d f".split(" ")) for (String v : SCALARS) line(k, v, "{\"" + k + "\":" + v + "}");
    for (String k : "ls lf".split(" ")) for (String v : LISTS) line(k, v, "{\"" + k + "\":" + v + "}");
    for (String v : MAPS) line("ms", v, "{\"ms\":" + v + "}");
    for (String v : DOCUMENTS) line("doc", v, v);
  }
}
