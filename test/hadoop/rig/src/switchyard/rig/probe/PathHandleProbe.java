package switchyard.rig.probe;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;

import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.HandleOpt;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathHandle;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;

/**
 * A handle names a file by its inode number alone, and each nameservice counts its own inodes. Of two files with one number, on the
 * nameservice of the folder and on the default one, which does the handle of the first open?
 */
final class PathHandleProbe {
  private static final int FILES = 5_000;

  private PathHandleProbe() {
  }

  static void run(InetSocketAddress endpoint, String folder, Report report) throws Exception {
    URI uri = URI.create("hdfs://" + endpoint.getAddress().getHostAddress() + ":" + endpoint.getPort());
    try (FileSystem fs = FileSystem.newInstance(uri, new HdfsConfiguration())) {
      Path mounted = new Path(folder);
      Path unmounted = new Path("/" + mounted.getName() + "-default");
      HdfsFileStatus one = write(fs, mounted, 0, "mounted");
      HdfsFileStatus two = write(fs, unmounted, 0, "unmounted");
      for (int i = 1; one.getFileId() != two.getFileId() && i < FILES; i++) {
        if (one.getFileId() < two.getFileId()) {
          one = write(fs, mounted, i, "mounted");
        } else {
          two = write(fs, unmounted, i, "unmounted");
        }
      }
      report.check(one.getFileId() == two.getFileId(), "two files have one inode number: " + one.getFileId());
      String opened = open(fs, fs.getPathHandle((org.apache.hadoop.fs.FileStatus) one, HandleOpt.reference()));
      report.fact("the handle of the mounted file gives: " + opened);
      report.check(!opened.equals("unmounted"), "a handle never opens another nameservice's file");
      fs.delete(mounted, true);
      fs.delete(unmounted, true);
    }
  }

  private static HdfsFileStatus write(FileSystem fs, Path folder, int i, String text) throws IOException {
    Path file = new Path(folder, "f" + i);
    try (FSDataOutputStream out = fs.create(file)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    }
    return (HdfsFileStatus) fs.getFileStatus(file);
  }

  private static String open(FileSystem fs, PathHandle handle) {
    try (FSDataInputStream in = fs.open(handle)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return String.valueOf(e.getMessage()).split("\n")[0];
    }
  }
}
