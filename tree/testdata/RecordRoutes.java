import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import net.opentsdb.meta.TSMeta;
import net.opentsdb.meta.UIDMeta;
import net.opentsdb.tree.Branch;
import net.opentsdb.tree.Leaf;
import net.opentsdb.tree.Tree;
import net.opentsdb.tree.TreeBuilder;
import net.opentsdb.tree.TreeRule;
import net.opentsdb.uid.UniqueId.UniqueIdType;

/**
 * Runs series through the tree rules of OpenTSDB 2.4.1 and says what it answers. A line of input is a JSON object with rules, strict,
 * tsuid, metric, tags (a list of key, value, ...) and custom (kind -> name -> fields); a line of output adds messages, error, row,
 * path and leaf. The class path is that of internal/testkit/cluster/tsd.xml (mvn dependency:build-classpath):
 *
 *   java -cp "$CP" RecordRoutes.java < cases.jsonl | grep "^{" > routes.jsonl
 */
public class RecordRoutes {
  static final ObjectMapper JSON = new ObjectMapper();

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    java.io.PrintStream out = new java.io.PrintStream(System.out, true, "UTF-8");
    for (String line; (line = in.readLine()) != null; ) {
      ObjectNode c = (ObjectNode) JSON.readTree(line);
      run(c);
      out.println(JSON.writeValueAsString(c));
    }
    System.exit(0);
  }

  static void run(ObjectNode c) throws Exception {
    Tree tree = new Tree(1);
    tree.setName("t");
    tree.setStrictMatch(c.path("strict").asBoolean());
    TreeBuilder builder = null;
    try {
      for (JsonNode r : c.get("rules")) {
        TreeRule rule = JSON.treeToValue(r, TreeRule.class);
        rule.setTreeId(1);
        tree.addRule(rule);
      }
      cacheRoot();
      builder = new TreeBuilder(null, new Tree(tree));
      builder.processTimeseriesMeta(meta(c), true).joinUninterruptibly();
    } catch (Throwable t) {
      while (t.getCause() != null) {
        t = t.getCause();
      }
      c.put("error", t.getClass().getSimpleName());
      return;
    }
    c.set("messages", JSON.valueToTree(builder.getTestMessage()));
    Branch b = builder.getRootBranch();
    c.put("row", b.getBranchId());
    while (b.getBranches() != null && !b.getBranches().isEmpty()) {
      b = b.getBranches().first();
      c.put("row", b.getBranchId());
    }
    c.set("path", JSON.valueToTree(new ArrayList<String>(b.getPath().values())));
    if (b.getLeaves() != null) {
      for (Leaf leaf : b.getLeaves()) {
        c.put("leaf", leaf.getDisplayName());
      }
    }
  }

  /** A root that is cached is not looked for in HBase. */
  @SuppressWarnings("unchecked")
  static void cacheRoot() throws Exception {
    Branch root = new Branch(1);
    root.setDisplayName("ROOT");
    TreeMap<Integer, String> path = new TreeMap<Integer, String>();
    path.put(0, "ROOT");
    root.prependParentPath(path);
    Field f = TreeBuilder.class.getDeclaredField("tree_roots");
    f.setAccessible(true);
    ((Map<Integer, Branch>) f.get(null)).put(1, root);
  }

  static TSMeta meta(ObjectNode c) throws Exception {
    TSMeta meta = new TSMeta(c.get("tsuid").asText());
    set(meta, "metric", uid(c, UniqueIdType.METRIC, "metric", c.get("metric").asText()));
    ArrayList<UIDMeta> tags = new ArrayList<UIDMeta>();
    boolean key = true;
    for (JsonNode name : c.get("tags")) {
      tags.add(uid(c, key ? UniqueIdType.TAGK : UniqueIdType.TAGV, key ? "tagk" : "tagv", name.asText()));
      key = !key;
    }
    set(meta, "tags", tags);
    return meta;
  }

  static UIDMeta uid(ObjectNode c, UniqueIdType type, String kind, String name) throws Exception {
    Constructor<UIDMeta> make = UIDMeta.class.getDeclaredConstructor(UniqueIdType.class, byte[].class, String.class);
    make.setAccessible(true);
    UIDMeta uid = make.newInstance(type, new byte[] {1}, name);
    JsonNode custom = c.path("custom").path(kind).path(name);
    if (custom.isObject()) {
      uid.setCustom(JSON.convertValue(custom, HashMap.class));
    }
    return uid;
  }

  static void set(Object o, String field, Object value) throws Exception {
    Field f = o.getClass().getDeclaredField(field);
    f.setAccessible(true);
    f.set(o, value);
  }
}
