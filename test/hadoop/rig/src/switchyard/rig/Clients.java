package switchyard.rig;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Java clients that stay, call by call, many in one JVM. Each line of the standard input is one request, such as
 * {"id":1,"client":"a","op":"open","uri":"hdfs://host:port","conf":{"key":"value"},"user":"alice"} and then
 * {"id":2,"client":"a","op":"status","path":"/x"}; its answer is one line {"id":2,"ok":true,"value":…,"ms":12}, or
 * {"id":2,"ok":false,"error":"CLASS: first line","ms":12}. Requests of one client run in their order, those of several at the same time.
 * A client is a FileSystem of its own: it has its own client id and remembers by itself what routers have told it.
 */
public final class Clients {
  private static final PrintStream ANSWERS = System.out;

  private final Map<String, Client> clients = new HashMap<>();

  private Clients() {
  }

  public static void main(String[] args) throws Exception {
    // Libraries that print do not mix with the answers.
    System.setOut(System.err);
    Clients all = new Clients();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      all.take(Json.object(line));
    }
    System.exit(0);
  }

  private void take(Map<String, Object> request) {
    String name = String.valueOf(request.get("client"));
    Client client = clients.computeIfAbsent(name, Client::new);
    if ("close".equals(request.get("op"))) {
      clients.remove(name);
    }
    client.thread.execute(() -> {
      String answer = Json.line(client.answer(request));
      synchronized (ANSWERS) {
        ANSWERS.print(answer + "\n");
        ANSWERS.flush();
      }
    });
  }

  private static final class Client {
    final ExecutorService thread;
    private FileSystem fs;

    Client(String name) {
      thread = Executors.newSingleThreadExecutor(body -> {
        Thread daemon = new Thread(body, "client-" + name);
        daemon.setDaemon(true);
        return daemon;
      });
    }

    Map<String, Object> answer(Map<String, Object> request) {
      Map<String, Object> answer = new LinkedHashMap<>();
      answer.put("id", request.get("id"));
      long start = System.nanoTime();
      try {
        Object value = run(request);
        answer.put("ok", true);
        answer.put("value", value);
      } catch (Exception e) {
        answer.put("ok", false);
        answer.put("error", e.toString().split("\n", 2)[0]);
      }
      answer.put("ms", (System.nanoTime() - start) / 1e6);
      return answer;
    }

    private Object run(Map<String, Object> request) throws Exception {
      String op = String.valueOf(request.get("op"));
      if (op.equals("open")) {
        open(request);
        return null;
      }
      if (fs == null) {
        throw new IllegalStateException("the client is not open");
      }
      if (op.equals("close")) {
        fs.close();
        thread.shutdown();
        return null;
      }
      if (op.equals("msync")) {
        fs.msync();
        return null;
      }
      return call(op, new Path(String.valueOf(request.get("path"))), request);
    }

    private void open(Map<String, Object> request) throws Exception {
      Configuration conf = new HdfsConfiguration();
      Map<?, ?> given = (Map<?, ?>) request.getOrDefault("conf", Map.of());
      given.forEach((key, value) -> conf.set(key.toString(), value.toString()));
      URI uri = URI.create(String.valueOf(request.get("uri")));
      PrivilegedExceptionAction<FileSystem> make = () -> FileSystem.newInstance(uri, conf);
      Object user = request.get("user");
      fs = user == null ? make.run() : UserGroupInformation.createRemoteUser(user.toString()).doAs(make);
    }

    /** One operation; all but `read` and `write` are one call of the client protocol each. */
    private Object call(String op, Path path, Map<String, Object> request) throws IOException {
      switch (op) {
        case "mkdirs":
          return fs.mkdirs(path);
        case "delete":
          return fs.delete(path, true);
        case "setMode":
          fs.setPermission(path, new FsPermission(((Number) request.get("mode")).shortValue()));
          return null;
        case "setTimes":
          fs.setTimes(path, number(request, "mtime"), number(request, "atime"));
          return null;
        case "status":
          return describe(fs.getFileStatus(path));
        case "list":
          return names(fs.listStatus(path));
        case "count":
          return fs.getContentSummary(path).getFileCount();
        case "blocks":
          return fs.getFileBlockLocations(path, 0, Long.MAX_VALUE).length;
        case "write":
          try (var out = fs.create(path, true)) {
            out.write(String.valueOf(request.get("text")).getBytes(StandardCharsets.UTF_8));
          }
          return null;
        case "read":
          try (var in = fs.open(path)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
          }
        default:
          throw new IllegalArgumentException("no op " + op);
      }
    }

    /** -1, which leaves a time as it is, where the request has none. */
    private static long number(Map<String, Object> request, String field) {
      Object value = request.get(field);
      return value == null ? -1 : ((Number) value).longValue();
    }

    private static Map<String, Object> describe(FileStatus status) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("directory", status.isDirectory());
      one.put("length", status.getLen());
      one.put("mode", status.getPermission().toShort());
      one.put("mtime", status.getModificationTime());
      return one;
    }

    private static List<String> names(FileStatus[] entries) {
      List<String> names = new ArrayList<>();
      for (FileStatus entry : entries) {
        names.add(entry.getPath().getName());
      }
      Collections.sort(names);
      return names;
    }
  }
}
