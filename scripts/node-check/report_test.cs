// Tests report.cs: `mono report_test.exe DOUBTS`. `mono report_test.exe --find SCRIPTS` prints the folder
// where a script in SCRIPTS finds the programs.
using System;
using System.Collections.Generic;
using System.IO;
using NodeCheck;

public static class ReportTest {
  static int checks, failures;

  static void Expect(bool condition, string what) {
    ++checks;
    if (condition) return;
    ++failures;
    Console.Error.WriteLine("report_test: " + what);
  }

  static void ExpectEqual(string got, string wanted) { Expect(got == wanted, "'" + got + "', not '" + wanted + "'"); }

  static void TestMasks() {
    Redactor masks = new Redactor(true);
    masks.Know("host", "NODE-7");
    masks.Know("user", "jane");
    masks.Know("serial", "AB12 &CD'34");
    masks.Know("serial", "AB12");
    masks.Know("id", "600224807fb01d");
    masks.Know("bios", "None");
    masks.Know("bios", "0000000000");
    masks.Know("user", "SYSTEM");
    ExpectEqual(masks.Apply(@"\\node-7\pipe, NODE-7.example, NODE-77"), @"\\<host-1>\pipe, <host-1>.example, NODE-77");
    ExpectEqual(masks.Apply(@"C:\Users\Jane\x janet"), @"C:\Users\<user-1>\x janet");
    ExpectEqual(masks.Apply(@"{""a"": ""1\r\nnode-7\tjane""}"), @"{""a"": ""1\r\n<host-1>\t<user-1>""}");
    ExpectEqual(masks.Apply("serial AB12 &CD'34, AB12"), "serial <serial-1>, <serial-2>");
    ExpectEqual(masks.Apply(@"""AB12 \u0026CD\u002734"""), @"""<serial-1>""");
    ExpectEqual(masks.Apply("naa600224807FB01D5"), "naa<id-1>5");
    ExpectEqual(masks.Apply("None 0000000000 SYSTEM"), "None 0000000000 SYSTEM");
    ExpectEqual(masks.Apply("S-1-5-21-1-2-3-500 S-1-5-18 S-1-5-32-544 s-1-5-21-1-2-3-500"), "<sid-1> S-1-5-18 S-1-5-32-544 <sid-1>");
    ExpectEqual(masks.Apply(@"\\?\Volume{B20FED54-0000-0000-0000-100000000000}\ volume{b20fed54-0000-0000-0000-100000000000}"),
      @"\\?\Volume{<volume-1>}\ volume{<volume-1>}");
    ExpectEqual(masks.Apply("iqn.1991-05.com.microsoft:node-7 (IQN.1991-05.com.microsoft:NODE-7)"), "<iqn-1> (<iqn-1>)");
    ExpectEqual(masks.Apply("10.1.2.3:445, 127.0.0.1, 0.0.0.0, 10.1.2.3."), "<ip-1>:445, 127.0.0.1, 0.0.0.0, <ip-1>.");
    ExpectEqual(masks.Apply("fe80::1%4 [::1] 12:34:56 2001:db8::2"), "<ip-2> [::1] 12:34:56 <ip-3>");
    ExpectEqual(masks.Apply("build 10.0.20348.2113, gRPC 1.51.1, 00-15-5D-01-02-03"), "build 10.0.20348.2113, gRPC 1.51.1, <mac-1>");
    ExpectEqual(masks.Apply(masks.Apply("NODE-7 10.1.2.3")), "<host-1> <ip-1>");
    ExpectEqual(new Redactor(false).Apply("10.1.2.3"), "10.1.2.3");
    ExpectEqual(masks.Apply(null), "");
  }

  static List<Doubt> SomeDoubts(int count) {
    List<string> lines = new List<string> { "# Doubts", "| | claim | source | rests on it | shown by | where | if it is false |" };
    for (int i = 1; i <= count; ++i) {
      lines.Add("| " + i + " | " + new string('e', 500) + " | [a page](https://a) | `A` | `part" + i + "`, `other` | cloud | `x` |");
    }
    return Doubt.Read(lines.ToArray());
  }

  static void TestJudging() {
    List<Outcome> outcomes = new List<Outcome> {
      new Outcome("part1", "", "OK", "as it is"), new Outcome("part2", "", "FAILED", "not so"),
      new Outcome("part4", "", "SKIPPED", "no server"), new Outcome("other", "", "OK", "")
    };
    List<Doubt> doubts = SomeDoubts(4);
    string[] settled = { "yes", "otherwise than expected", "in part", "in part" };
    for (int i = 0; i < settled.Length; ++i) {
      doubts[i].Judge(outcomes);
      ExpectEqual(doubts[i].Settled, settled[i]);
    }
    ExpectEqual(doubts[1].Did, "part2: FAILED not so; other: OK");
    ExpectEqual(doubts[2].Did, "part3: did not run; other: OK");
    Doubt alone = Doubt.Read(new[] { "| 7 | The `claim` of [a page](https://a). | | | `part4` | - | |" })[0];
    ExpectEqual(alone.Expected, "The claim of a page.");
    alone.Judge(outcomes);
    ExpectEqual(alone.Settled, "no");
  }

  static int Count(string text, string word) { return text.Split(new[] { word }, StringSplitOptions.None).Length - 1; }

  static void TestSize(int doubts, int parts, int facts, int length, string unit) {
    const int limit = 60000;
    List<Outcome> outcomes = new List<Outcome>();
    System.Text.StringBuilder repeated = new System.Text.StringBuilder();
    while (repeated.Length < length) repeated.Append(unit);
    string detail = repeated.ToString();
    for (int i = 1; i <= parts; ++i) outcomes.Add(new Outcome("part" + i, "", "OK", detail));
    List<Doubt> all = SomeDoubts(doubts);
    foreach (Doubt doubt in all) doubt.Judge(outcomes);
    List<string[]> told = new List<string[]>();
    for (int i = 1; i <= facts; ++i) told.Add(new[] { "fact " + i, detail });
    string text = Markdown.Report("about", "1 passed", all, outcomes, told, limit);
    string what = doubts + " doubts, " + parts + " parts, " + facts + " facts of " + length;
    Expect(Markdown.Bytes(text) <= limit, what + ": " + Markdown.Bytes(text) + " bytes");
    for (int i = 1; i <= doubts; ++i) Expect(text.Contains("\n| " + i + " | eee"), what + ": no row of doubt " + i);
    for (int i = 1; i <= parts; ++i) Expect(text.Contains("\n| part" + i + " | OK | "), what + ": no row of part " + i);
    Expect(Count(text, "<details>") == Count(text, "</details>"), what + ": a fact does not end");
    if (length > 0 && facts > 0) Expect(text.Contains("fact 1<"), what + ": no fact is left");
  }

  static void TestMarkdown() {
    foreach (string unit in new[] { "x", "a|b`c ", "\u00e4\ud83d\ude00 ", "```\n````\n", "<volume-12> " }) {
      TestSize(16, 60, 12, 100, unit);
      TestSize(70, 80, 20, 20000, unit);
      TestSize(70, 80, 0, 20000, unit);
      TestSize(1, 1, 200, 5000, unit);
    }
    TestSize(0, 0, 0, 0, "x");
    List<Outcome> outcomes = new List<Outcome> { new Outcome("p", "", "FAILED", "a|b\n<host-1> @someone") };
    string text = Markdown.Report("about", "s", SomeDoubts(0), outcomes, new List<string[]> { new[] { "f", "```\n# title" } }, 60000);
    Expect(text.Contains("| p | FAILED | a\\|b &lt;host-1&gt; &#64;someone |"), text);
    Expect(text.Contains("````\n```\n# title\n````"), text);
    // A mask is left out whole.
    outcomes[0] = new Outcome("p", "", "OK", new string('y', 590) + "<volume-1><volume-2>");
    Expect(!Markdown.Report("a", "s", SomeDoubts(0), outcomes, new List<string[]>(), 60000).Contains("volume"), "a mask was cut");
  }

  static string Find(string named, string script) {
    return Programs.Find(Programs.Places(named, script, "/nowhere"), new[] { "csi-proxyctl.exe", "csi-proxy.exe" });
  }

  static void TestFinding() {
    string root = Path.Combine(Path.GetTempPath(), "node check (1) " + Guid.NewGuid());
    try {
      string bin = Path.Combine(root, "bin"), share = Path.Combine(root, "share", "csi-proxy");
      Directory.CreateDirectory(bin);
      Directory.CreateDirectory(share);
      try {
        Find("", share);
        Expect(false, "programs were found where none are");
      } catch (FileNotFoundException e) { Expect(e.Message.Contains("-Directory"), e.Message); }
      foreach (string file in new[] { "csi-proxyctl.exe", "csi-proxy.exe" }) File.WriteAllText(Path.Combine(bin, file), "");
      ExpectEqual(Find("", share), bin);
      ExpectEqual(Find("", root), bin);
      ExpectEqual(Find("", bin), bin);
      ExpectEqual(Find(root, "/elsewhere"), bin);
      ExpectEqual(Find(bin, share), bin);
    } finally {
      Directory.Delete(root, true);
    }
  }

  static void TestServices() {
    string line = "\"C:\\Program Files\\csi-proxy\\csi-proxy.exe\" -windows-service \"-log_file=C:\\a b\\c.log\" --metrics-bind-address :9090 -v=4";
    ExpectEqual(Service.Words(line)[0], "C:\\Program Files\\csi-proxy\\csi-proxy.exe");
    ExpectEqual(Service.Flag(line, "log_file"), "C:\\a b\\c.log");
    ExpectEqual(Service.Flag(line, "metrics-bind-address"), ":9090");
    ExpectEqual(Service.Flag(line, "v"), "4");
    ExpectEqual(Service.Flag(line, "kubelet-path"), "");
    byte[] actions = {
      0x80, 0x51, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0x10, 0x27, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    };
    ExpectEqual(Service.FailureActions(actions), "restart after 10000 ms, nothing after 0 ms");
    ExpectEqual(Service.FailureActions(null), "");
    Array.Resize(ref actions, 30);
    ExpectEqual(Service.FailureActions(actions), "restart after 10000 ms");
  }

  public static int Main(string[] arguments) {
    if (arguments.Length == 2 && arguments[0] == "--find") {
      Console.WriteLine(Find("", arguments[1]));
      return 0;
    }
    TestMasks();
    TestJudging();
    TestMarkdown();
    TestFinding();
    TestServices();
    int doubts = Doubt.Read(File.ReadAllLines(arguments[0])).Count;
    Expect(doubts == Array.FindAll(File.ReadAllLines(arguments[0]), line => line.StartsWith("| ") && char.IsDigit(line[2])).Length && doubts > 10, "doubts.md has " + doubts + " doubts");
    Console.WriteLine("report_test: " + checks + " checks, " + failures + " failures, " + doubts + " doubts");
    return failures == 0 ? 0 : 1;
  }
}
