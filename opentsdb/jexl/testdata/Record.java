// Records anew what Apache Commons JEXL 2.1.1 computes of the expressions in jexl.tsv.gz, on Java 17:
//
//   javac -cp commons-jexl-2.1.1.jar Record.java
//   zcat jexl.tsv.gz | java -cp commons-jexl-2.1.1.jar:commons-logging-1.2.jar:. Record | gzip -9n > new.gz
//
// A line has the expression, the values of a, b and c, the class of the result, and the result: of floats the
// bits. PARSE and EVAL stand for failures.
import java.io.*;
import java.util.logging.*;
import org.apache.commons.jexl2.*;

public class Record {
  public static void main(String[] arguments) throws IOException {
    Logger.getLogger("").setLevel(Level.OFF);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] columns = line.split("\t", -1);
      out.println(String.join("\t", columns[0], columns[1], columns[2], columns[3], result(columns)));
    }
    out.flush();
  }

  private static String result(String[] columns) {
    Script script;
    try {
      script = new JexlEngine().createScript(columns[0]);
    } catch (JexlException e) {
      return "PARSE\t";
    }
    MapContext variables = new MapContext();
    for (int i = 0; i < 3; i++) {
      variables.set("abc".substring(i, i + 1), Double.valueOf(columns[1 + i]));
    }
    try {
      Object v = script.execute(variables);
      if (v == null) {
        return "null\tnull";
      }
      boolean isFloat = v instanceof Double || v instanceof Float;
      String text = v.toString();
      return v.getClass().getName() + "\t"
          + (isFloat ? Long.toHexString(Double.doubleToLongBits(Double.parseDouble(text))) : text);
    } catch (RuntimeException e) {
      return "EVAL\t";
    }
  }
}
