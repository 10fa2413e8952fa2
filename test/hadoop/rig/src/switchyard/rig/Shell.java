package switchyard.rig;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedExceptionAction;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Many commands of HDFS's tools in one JVM. Each line of the standard input is {"args":["-ls","/"],"user":"alice"}, with
 * {"tool":"dfsadmin"} for another tool than FsShell (see Tools); its answer is one line {"code":0,"out":"…","err":"…","ms":12}. All file
 * systems are closed after each command, so that every command is a new client with a connection and a client id of its own, as a
 * command in a JVM of its own would be; {"keep":true} leaves them open for the next.
 */
public final class Shell {
  private static final PrintStream ANSWERS = System.out;
  private static final PrintStream ERRORS = System.err;

  private Shell() {
  }

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ANSWERS.print(Json.line(answer(args, Json.object(line))) + "\n");
      ANSWERS.flush();
    }
    System.exit(0);
  }

  private static Map<String, Object> answer(String[] common, Map<String, Object> request) throws IOException {
    List<?> given = (List<?>) request.get("args");
    String[] args = new String[common.length + given.size()];
    System.arraycopy(common, 0, args, 0, common.length);
    for (int i = 0; i < given.size(); i++) {
      args[common.length + i] = String.valueOf(given.get(i));
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
    long start = System.nanoTime();
    int code;
    try {
      code = as(request.get("user"), String.valueOf(request.getOrDefault("tool", "dfs")), args);
    } catch (Exception e) {
      e.printStackTrace();
      code = 255;
    } finally {
      System.out.flush();
      System.err.flush();
      System.setOut(ANSWERS);
      System.setErr(ERRORS);
    }
    long ms = (System.nanoTime() - start) / 1_000_000;
    if (!Boolean.TRUE.equals(request.get("keep"))) {
      FileSystem.closeAll();
    }
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("code", code);
    answer.put("out", out.toString(StandardCharsets.UTF_8));
    answer.put("err", err.toString(StandardCharsets.UTF_8));
    answer.put("ms", ms);
    return answer;
  }

  private static int as(Object user, String tool, String[] args) throws Exception {
    PrivilegedExceptionAction<Integer> command = () -> Tools.run(tool, args);
    return user == null ? command.run() : UserGroupInformation.createRemoteUser(user.toString()).doAs(command);
  }
}
