package org.apache.hadoop.ipc;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Hadoop's FairCallQueue and DecayRpcScheduler, driven by a script in virtual time: one command a line, answers on standard output. In this
 * package because sweeps can be forced from here only. Commands: see test/hadoop/queue-script.ts, which drives ours.
 */
public final class QueueScript {
  private static final String PREFIX = "ipc.1";

  private record Caller(UserGroupInformation user, int level) implements Schedulable {
    @Override
    public UserGroupInformation getUserGroupInformation() {
      return user;
    }

    @Override
    public int getPriorityLevel() {
      return level;
    }
  }

  private record QueuedCall(String id, Caller caller) implements Schedulable {
    @Override
    public UserGroupInformation getUserGroupInformation() {
      return caller.user;
    }

    @Override
    public int getPriorityLevel() {
      return caller.level;
    }
  }

  private final Configuration conf = new Configuration(false);
  private final Map<String, UserGroupInformation> users = new HashMap<>();
  private final Map<String, QueuedCall> calls = new HashMap<>();
  private final StringBuilder out = new StringBuilder();
  private DecayRpcScheduler scheduler;
  private FairCallQueue<QueuedCall> queue;
  private int levels;

  public static void main(String[] args) throws Exception {
    QueueScript script = new QueueScript();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      if (!line.isEmpty()) script.run(line.split(" "));
    }
    System.out.print(script.out);
    System.out.flush();
  }

  private void run(String[] words) throws Exception {
    switch (words[0]) {
      case "set" -> conf.set(PREFIX + "." + words[1], words[2]);
      case "open" -> open(Integer.parseInt(words[1]), Integer.parseInt(words[2]), numbers(words[3]));
      case "turns" -> turns(Integer.parseInt(words[1]));
      case "call" -> call(words[1], words[2]);
      case "queue" -> queue(words[1], new Caller(userOf(words[2]), Integer.parseInt(words[3])));
      case "take" -> take(Integer.parseInt(words[1]));
      case "answer" -> answer(calls.remove(words[1]), words[2], words[3], words[4]);
      case "done" -> answer(new Caller(userOf(words[1]), Integer.parseInt(words[2])), words[3], words[4], words[5]);
      case "sweep" -> scheduler.forceDecay();
      case "level" -> say(scheduler.getPriorityLevel(new Caller(userOf(words[1]), 0)));
      case "refuses" -> refuses();
      case "totals" -> totals();
      default -> throw new IllegalArgumentException("no such command: " + String.join(" ", words));
    }
  }

  private void open(int levels, int capacity, int[] capacityWeights) {
    // Sweeps come from the script.
    conf.setLong(PREFIX + ".decay-scheduler.period-ms", 1_000_000_000L);
    this.levels = levels;
    calls.clear();
    scheduler = new DecayRpcScheduler(levels, PREFIX, conf);
    queue = new FairCallQueue<>(levels, capacity, PREFIX, capacityWeights, false, conf);
  }

  private void turns(int count) {
    WeightedRoundRobinMultiplexer multiplexer = new WeightedRoundRobinMultiplexer(levels, PREFIX, conf);
    StringBuilder turns = new StringBuilder();
    for (int i = 0; i < count; i++) turns.append(multiplexer.getAndAdvanceCurrentIndex());
    say(turns);
  }

  /** A call of this user arrives; its level is the scheduler's. */
  private void call(String id, String user) {
    int level = scheduler.getPriorityLevel(new Caller(userOf(user), 0));
    queue(id, new Caller(userOf(user), level));
  }

  private void queue(String id, Caller caller) {
    QueuedCall call = new QueuedCall(id, caller);
    String outcome = "queued";
    try {
      queue.add(call);
      calls.put(id, call);
    } catch (CallQueueManager.CallQueueOverflowException overflow) {
      outcome = overflow.getCause().getMessage();
    }
    say(id + " " + caller.level + " " + outcome);
  }

  private void take(int count) {
    for (int i = 0; i < count; i++) {
      QueuedCall call = queue.poll();
      say(call == null ? "-" : call.id);
    }
  }

  private void answer(Schedulable call, String queueMs, String processingMs, String effect) {
    ProcessingDetails details = new ProcessingDetails(TimeUnit.NANOSECONDS);
    long nanos = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(processingMs));
    details.set(ProcessingDetails.Timing.QUEUE, TimeUnit.MILLISECONDS.toNanos(Long.parseLong(queueMs)));
    details.set(ProcessingDetails.Timing.PROCESSING, nanos);
    details.set(effect.equals("write") ? ProcessingDetails.Timing.LOCKEXCLUSIVE : ProcessingDetails.Timing.LOCKSHARED, nanos);
    scheduler.addResponseTime("", call instanceof QueuedCall queued ? queued.caller : call, details);
  }

  private void refuses() {
    StringBuilder refused = new StringBuilder("refuses");
    for (int level = 0; level < levels; level++) {
      if (scheduler.shouldBackOff(new Caller(userOf("probe"), level))) refused.append(' ').append(level);
    }
    say(refused);
  }

  private void totals() {
    say("total " + scheduler.getTotalCallVolume() + " " + scheduler.getTotalRawCallVolume() + " "
        + scheduler.getTotalServiceUserCallVolume() + " " + scheduler.getTotalServiceUserRawCallVolume());
    say("callers" + new TreeMap<Object, Long>(scheduler.getCallCostSnapshot()).entrySet().stream()
        .map((entry) -> " " + entry.getKey() + "=" + entry.getValue()).collect(Collectors.joining()));
    say("averages" + Arrays.stream(scheduler.getAverageResponseTime()).mapToObj((each) -> String.format(Locale.ROOT, " %.6f", each))
        .collect(Collectors.joining()));
    say("answered" + join(scheduler.getResponseTimeCountInLastWindow()));
    say("sizes" + join(Arrays.stream(queue.getQueueSizes()).asLongStream().toArray()));
    say("overflowed" + join(queue.getOverflowedCalls()));
  }

  private UserGroupInformation userOf(String name) {
    return users.computeIfAbsent(name, UserGroupInformation::createRemoteUser);
  }

  private void say(Object line) {
    out.append(line).append('\n');
  }

  private static String join(long[] numbers) {
    return Arrays.stream(numbers).mapToObj((each) -> " " + each).collect(Collectors.joining());
  }

  private static int[] numbers(String list) {
    return Arrays.stream(list.split(",")).mapToInt(Integer::parseInt).toArray();
  }
}
