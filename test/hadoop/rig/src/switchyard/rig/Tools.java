package switchyard.rig;

import java.util.LinkedHashMap;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.tools.CacheAdmin;
import org.apache.hadoop.hdfs.tools.CryptoAdmin;
import org.apache.hadoop.hdfs.tools.DFSAdmin;
import org.apache.hadoop.hdfs.tools.DFSck;
import org.apache.hadoop.hdfs.tools.ECAdmin;
import org.apache.hadoop.hdfs.tools.GetGroups;
import org.apache.hadoop.hdfs.tools.StoragePolicyAdmin;
import org.apache.hadoop.hdfs.tools.federation.RouterAdmin;
import org.apache.hadoop.hdfs.tools.snapshot.LsSnapshot;
import org.apache.hadoop.hdfs.tools.snapshot.LsSnapshottableDir;
import org.apache.hadoop.hdfs.tools.snapshot.SnapshotDiff;
import org.apache.hadoop.tools.DistCp;
import org.apache.hadoop.tools.DistCpOptions;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;

/** The tools behind `hdfs NAME …` and `hadoop distcp`, each new for every use, without the JVM that the scripts start for it. */
public final class Tools {
  private interface Maker {
    Tool make(Configuration conf) throws Exception;
  }

  private static final Map<String, Maker> ALL = new LinkedHashMap<>();

  static {
    ALL.put("dfs", FsShell::new);
    ALL.put("dfsadmin", DFSAdmin::new);
    ALL.put("fsck", DFSck::new);
    ALL.put("ec", ECAdmin::new);
    ALL.put("cacheadmin", CacheAdmin::new);
    ALL.put("crypto", CryptoAdmin::new);
    ALL.put("storagepolicies", StoragePolicyAdmin::new);
    ALL.put("groups", GetGroups::new);
    ALL.put("dfsrouteradmin", RouterAdmin::new);
    ALL.put("lsSnapshottableDir", conf -> new LsSnapshottableDir());
    ALL.put("lsSnapshot", conf -> new LsSnapshot());
    ALL.put("snapshotDiff", SnapshotDiff::new);
    ALL.put("distcp", conf -> new DistCp(conf, (DistCpOptions) null));
  }

  private Tools() {
  }

  /** Exit code of the tool. `args` may begin with `-fs URI` and `-D key=value`, which every tool understands. */
  static int run(String name, String[] args) throws Exception {
    Maker maker = ALL.get(name);
    if (maker == null) {
      throw new IllegalArgumentException("no tool " + name + ": take one of " + String.join(", ", ALL.keySet()));
    }
    Configuration conf = new HdfsConfiguration();
    return ToolRunner.run(conf, maker.make(conf), args);
  }

  public static void main(String[] args) throws Exception {
    String[] rest = new String[args.length - 1];
    System.arraycopy(args, 1, rest, 0, rest.length);
    System.exit(run(args[0], rest));
  }
}
