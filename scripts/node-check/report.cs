// Part of node-check.ps1: the masks, tables and files of the report, which need no Windows. In C# 5,
// which Windows PowerShell compiles, and Mono on Linux, where report_test.cs runs.
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.RegularExpressions;

namespace NodeCheck {

// Gives the same mask to the same value, whatever its case.
public sealed class Redactor {
  // Firmware without a serial number has these in its place.
  static readonly string[] Nothing = {
    "none", "null", "default", "default string", "unknown", "system", "to be filled by o.e.m.", "not specified"
  };
  static readonly Regex Iqn = new Regex(@"\biqn\.\d{4}-\d{2}\.[^\s""'`,;|<>()\\]+|\b(?:eui|naa)\.[0-9a-f]{12,32}\b",
    RegexOptions.IgnoreCase);
  // Those of Windows itself are the same everywhere, and tell who may do what.
  static readonly Regex Sid = new Regex(@"\bS-1-(?:5-21|12-1)-[0-9-]*[0-9]", RegexOptions.IgnoreCase);
  static readonly Regex Volume = new Regex(@"(?<=volume\{)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\})",
    RegexOptions.IgnoreCase);
  static readonly Regex Ipv4 = new Regex(@"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w]|\.\d)");
  static readonly Regex Ipv6 = new Regex(@"(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:%\w+)?(?![\w:])", RegexOptions.IgnoreCase);
  static readonly Regex Mac = new Regex(@"(?<![\w-])[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?![\w-])", RegexOptions.IgnoreCase);

  readonly bool on;
  readonly Dictionary<string, string> masks = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
  readonly Dictionary<string, string> forms = new Dictionary<string, string>();
  readonly Dictionary<string, int> counts = new Dictionary<string, int>();
  readonly List<KeyValuePair<string, Regex>> known = new List<KeyValuePair<string, Regex>>();

  public Redactor(bool on) { this.on = on; }

  string Mask(string kind, string value) {
    string mask;
    if (masks.TryGetValue(value, out mask)) return mask;
    int count;
    counts.TryGetValue(kind, out count);
    counts[kind] = count + 1;
    mask = "<" + kind + "-" + (count + 1) + ">";
    masks[value] = mask;
    return mask;
  }

  // A value that shall be masked wherever it stands.
  public void Know(string kind, string value) {
    value = (value ?? "").Trim();
    if (value.Length < 3 || Array.IndexOf(Nothing, value.ToLowerInvariant()) >= 0) return;
    if (value.Trim('0').Length == 0 || masks.ContainsKey(value)) return;
    string mask = Mask(kind, value);
    string json = value.Replace("\\", "\\\\").Replace("&", "\\u0026").Replace("'", "\\u0027");
    foreach (string form in json == value ? new[] { value } : new[] { value, json }) {
      string pattern = Regex.Escape(form);
      // A name is a word, in JSON after a line feed too; a number that identifies a device also stands within longer ones.
      if (kind == "host" || kind == "user" || value.Length < 8) pattern = @"(?:(?<![\p{L}\p{Nd}])|(?<=\\[nrt]))" + pattern + @"(?![\p{L}\p{Nd}])";
      forms[form] = mask;
      known.Add(new KeyValuePair<string, Regex>(form, new Regex(pattern, RegexOptions.IgnoreCase | RegexOptions.CultureInvariant)));
    }
    // The longest first: one value may be part of another.
    known.Sort((a, b) => {
      int order = b.Key.Length.CompareTo(a.Key.Length);
      return order != 0 ? order : string.CompareOrdinal(a.Key, b.Key);
    });
  }

  string Address(string text) {
    IPAddress address;
    if (!IPAddress.TryParse(text, out address)) return text;
    if (IPAddress.IsLoopback(address) || address.Equals(IPAddress.Any) || address.Equals(IPAddress.IPv6Any)) return text;
    return Mask("ip", text);
  }

  public string Apply(string text) {
    if (!on || string.IsNullOrEmpty(text)) return text ?? "";
    text = Iqn.Replace(text, m => Mask("iqn", m.Value));
    text = Sid.Replace(text, m => Mask("sid", m.Value));
    text = Volume.Replace(text, m => Mask("volume", m.Value));
    foreach (KeyValuePair<string, Regex> value in known) text = value.Value.Replace(text, forms[value.Key]);
    text = Ipv4.Replace(text, m => Address(m.Value));
    text = Ipv6.Replace(text, m => Address(m.Value));
    return Mac.Replace(text, m => Mask("mac", m.Value));
  }
}

// A part that ran, or a step of the selftest under the name `selftest/STEP`.
public sealed class Outcome {
  public string Name, Shows, Result, Detail;

  public Outcome(string name, string shows, string result, string detail) {
    Name = name;
    Shows = shows;
    Result = result;
    Detail = detail ?? "";
  }
}

// A claim about Windows that no node has shown yet: a row of doubts.md, whose columns are number, claim,
// source, what rests on it, the parts that show it, where, and what if it is false.
public sealed class Doubt {
  public string Number, Expected, Did, Settled;
  public string[] Parts;

  public static List<Doubt> Read(string[] lines) {
    List<Doubt> doubts = new List<Doubt>();
    foreach (string line in lines) {
      string[] cells = line.Split('|');
      if (cells.Length != 9 || !Regex.IsMatch(cells[1], @"^ \d+ $")) continue;
      List<string> parts = new List<string>();
      foreach (Match part in Regex.Matches(cells[5], "`([a-z0-9-]+)`")) parts.Add(part.Groups[1].Value);
      string claim = Regex.Replace(cells[2], @"\[([^\]]*)\]\([^)]*\)", "$1").Replace("`", "").Trim();
      doubts.Add(new Doubt { Number = cells[1].Trim(), Expected = claim, Parts = parts.ToArray() });
    }
    return doubts;
  }

  // What the parts say of it.
  public void Judge(IList<Outcome> outcomes) {
    int passed = 0, failed = 0, open = 0;
    List<string> did = new List<string>();
    foreach (string part in Parts) {
      Outcome found = null;
      foreach (Outcome outcome in outcomes) {
        if (outcome.Name == part) found = outcome;
      }
      if (found != null && found.Result == "OK") ++passed;
      else if (found != null && found.Result == "FAILED") ++failed;
      else ++open;
      did.Add(part + ": " + (found == null ? "did not run" : found.Result + " " + found.Detail).Trim());
    }
    Did = Parts.Length == 0 ? "no part shows it" : string.Join("; ", did.ToArray());
    if (failed > 0) Settled = "otherwise than expected";
    else if (passed > 0 && open == 0) Settled = "yes";
    else Settled = passed > 0 ? "in part" : "no";
  }
}

// The text of an issue.
public static class Markdown {
  static string Cut(string text, int length) {
    if (text.Length <= length) return text;
    // Not within a character of two units, nor within a mask.
    int end = Math.Max(length - 3, 0);
    if (end > 0 && char.IsHighSurrogate(text[end - 1])) --end;
    int mask = text.LastIndexOf('<', Math.Max(end - 1, 0));
    if (mask >= 0 && end - mask < 20 && text.IndexOf('>', mask) >= end) end = mask;
    return text.Substring(0, end) + "...";
  }

  static string Cell(string text, int length) {
    // A detail may be long, and most of it is cut off.
    text = Regex.Replace(Cut(text ?? "", 4 * length), @"\s+", " ").Trim();
    return Cut(text, length).Replace("&", "&amp;").Replace("<", "&lt;").Replace(">", "&gt;").Replace("|", "\\|")
      .Replace("`", "\\`").Replace("*", "\\*").Replace("_", "\\_").Replace("@", "&#64;");
  }

  static void Table(StringBuilder text, string[] head, List<string[]> rows, int length) {
    text.Append("| ").Append(string.Join(" | ", head)).Append(" |\n|");
    foreach (string column in head) text.Append("---|");
    text.Append("\n");
    foreach (string[] row in rows) {
      text.Append("|");
      foreach (string cell in row) text.Append(" ").Append(Cell(cell, length)).Append(" |");
      text.Append("\n");
    }
    text.Append("\n");
  }

  public static int Bytes(string text) { return Encoding.UTF8.GetByteCount(text); }

  static string Tables(string about, string summary, List<Doubt> doubts, List<Outcome> outcomes, int length) {
    StringBuilder text = new StringBuilder();
    text.Append("# CSI Proxy on a node\n\n").Append(about.Trim()).Append("\n\n").Append(summary.Trim()).Append("\n\n");
    text.Append("## Doubts\n\n");
    List<string[]> rows = new List<string[]>();
    foreach (Doubt doubt in doubts) {
      rows.Add(new[] { doubt.Number, doubt.Expected, doubt.Did, doubt.Settled });
    }
    Table(text, new[] { "", "expected", "this node", "settled" }, rows, length);
    text.Append("## Parts\n\n");
    rows = new List<string[]>();
    foreach (Outcome outcome in outcomes) rows.Add(new[] { outcome.Name, outcome.Result, outcome.Detail });
    Table(text, new[] { "part", "result", "detail" }, rows, length);
    return text.ToString();
  }

  static string Fenced(string name, string value) {
    // No fact ends the block that it stands in.
    string fence = "```";
    while (value.Contains(fence)) fence += "`";
    return "<details><summary>" + Cell(name, 200) + "</summary>\n\n" + fence + "\n" + value.Trim() + "\n" + fence + "\n\n</details>\n\n";
  }

  // In at most `limit` bytes: rows keep at least their first words, facts are cut to what is left.
  public static string Report(string about, string summary, List<Doubt> doubts, List<Outcome> outcomes, List<string[]> facts, int limit) {
    int length = 600;
    string text = Tables(about, summary, doubts, outcomes, length);
    while (Bytes(text) > limit * 3 / 4 && length > 24) {
      length = length * 3 / 4;
      text = Tables(about, summary, doubts, outcomes, length);
    }
    if (Bytes(text) > limit) throw new InvalidOperationException("the tables alone are larger than " + limit + " bytes");
    StringBuilder whole = new StringBuilder(text);
    int left = limit - Bytes(text), more = 0;
    for (int i = 0; i < facts.Count; ++i) {
      int share = left / (facts.Count - i);
      string name = facts[i][0], value = facts[i][1];
      string fact = Fenced(name, value);
      for (int size = Math.Min(value.Length, share); Bytes(fact) > share && size > 40; size = size * 3 / 4) {
        fact = Fenced(name, Cut(value, size));
      }
      if (Bytes(fact) > share) {
        ++more;
        continue;
      }
      whole.Append(fact);
      left -= Bytes(fact);
    }
    string rest = more == 0 ? "" : more + " facts are in the JSON file alone.\n";
    if (Bytes(rest) <= left) whole.Append(rest);
    return whole.ToString();
  }
}

public static class Programs {
  // Where the programs may be: the folder that was named, alone, else those beside the script. The
  // script is in share\csi-proxy of a release's ZIP and its programs in bin, and an image has all at its root.
  public static string[] Places(string named, string script, string installed) {
    if (!string.IsNullOrEmpty(named)) return new[] { named, Path.Combine(named, "bin") };
    return new[] {
      script, Path.Combine(script, "bin"),
      Path.GetFullPath(Path.Combine(script, Path.Combine("..", Path.Combine("..", "bin")))), installed
    };
  }

  public static string Find(string[] places, string[] files) {
    foreach (string place in places) {
      bool all = true;
      foreach (string file in files) all = all && File.Exists(Path.Combine(place, file));
      if (all) return place;
    }
    throw new FileNotFoundException(
      string.Join(" and ", files) + " are in none of " + string.Join(", ", places) + "; name their folder by -Directory");
  }
}

// What the registry holds of a service.
public static class Service {
  public static string[] Words(string line) {
    List<string> words = new List<string>();
    foreach (Match match in Regex.Matches(line ?? "", @"(?:[^\s""]|""[^""]*"")+")) words.Add(match.Value.Replace("\"", ""));
    return words.ToArray();
  }

  // The value of a flag, with one dash or two; empty when it is not there.
  public static string Flag(string line, string name) {
    string[] words = Words(line);
    for (int i = 0; i < words.Length; ++i) {
      Match match = Regex.Match(words[i], "^--?" + Regex.Escape(name) + "(?:=(.*))?$", RegexOptions.Singleline);
      if (!match.Success) continue;
      if (match.Groups[1].Success) return match.Groups[1].Value;
      if (i + 1 < words.Length) return words[i + 1];
    }
    return "";
  }

  // SERVICE_FAILURE_ACTIONS as the registry has it, with 32-bit words: the last two of the five say how many
  // actions there are and where they begin.
  public static string FailureActions(byte[] bytes) {
    if (bytes == null || bytes.Length < 20) return "";
    List<string> actions = new List<string>();
    int count = BitConverter.ToInt32(bytes, 12), start = BitConverter.ToInt32(bytes, 16);
    for (int i = 0; i < count && start >= 20 && start + 8 * i + 8 <= bytes.Length; ++i) {
      int type = BitConverter.ToInt32(bytes, start + 8 * i), delay = BitConverter.ToInt32(bytes, start + 8 * i + 4);
      string[] names = { "nothing", "restart", "reboot", "command" };
      actions.Add((type >= 0 && type < names.Length ? names[type] : "action " + type) + " after " + delay + " ms");
    }
    return string.Join(", ", actions.ToArray());
  }
}

}  // namespace NodeCheck
