// Part of node-check.ps1: Unix sockets for the .NET Framework, which knows of none, and a CSI driver
// that says its name and that it is ready. In C# 5, which Windows PowerShell compiles.
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.IO;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Security.AccessControl;
using System.Text;
using System.Threading;
using Microsoft.Win32.SafeHandles;

namespace NodeCheck {

public sealed class UnixEndPoint : EndPoint {
  readonly byte[] path;

  public UnixEndPoint(string path) { this.path = Encoding.UTF8.GetBytes(path); }

  public override AddressFamily AddressFamily { get { return AddressFamily.Unix; } }

  // sockaddr_un of afunix.h, as far as it is used.
  public override SocketAddress Serialize() {
    if (path.Length > 107) throw new ArgumentException("the path of the socket is too long");
    SocketAddress address = new SocketAddress(AddressFamily.Unix, 2 + path.Length + 1);
    for (int i = 0; i < path.Length; ++i) address[2 + i] = path[i];
    return address;
  }

  public override EndPoint Create(SocketAddress address) { return new UnixEndPoint(""); }
}

// HTTP/2, as far as both need it.
public static class Frames {
  public const string Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  public static Socket NewSocket() {
    return new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
  }

  public static byte[] Receive(Socket socket, int size) {
    byte[] bytes = new byte[size];
    for (int have = 0; have < size;) {
      int more = socket.Receive(bytes, have, size - have, SocketFlags.None);
      if (more == 0) throw new IOException("the connection has ended");
      have += more;
    }
    return bytes;
  }

  public static void Send(Socket socket, byte kind, byte flags, int stream, byte[] body) {
    List<byte> bytes = new List<byte>();
    bytes.AddRange(new byte[] { (byte)(body.Length >> 16), (byte)(body.Length >> 8), (byte)body.Length, kind, flags });
    bytes.AddRange(new byte[] { (byte)(stream >> 24), (byte)(stream >> 16), (byte)(stream >> 8), (byte)stream });
    bytes.AddRange(body);
    socket.Send(bytes.ToArray());
  }
}

public sealed class Driver : IDisposable {
  readonly string path, name;
  readonly Socket listener = Frames.NewSocket();
  readonly List<Socket> clients = new List<Socket>();

  public Driver(string path, string name) {
    this.path = path;
    this.name = name;
    listener.Bind(new UnixEndPoint(path));
    listener.Listen(16);
    Run(Accept);
  }

  // Closes what is open, and removes the socket.
  public void Dispose() {
    listener.Close();
    lock (clients) {
      foreach (Socket client in clients) client.Close();
    }
    File.Delete(path);
  }

  static void Run(ThreadStart work) {
    Thread thread = new Thread(delegate() {
      try {
        work();
      } catch (Exception) {
        // The other end has gone, or this one.
      }
    });
    thread.IsBackground = true;
    thread.Start();
  }

  void Accept() {
    while (true) {
      Socket client = listener.Accept();
      lock (clients) clients.Add(client);
      Run(delegate() { Serve(client); });
    }
  }

  void Serve(Socket client) {
    try {
      Frames.Receive(client, Frames.Preface.Length);
      Frames.Send(client, 4, 0, 0, new byte[0]);
      Dictionary<int, string> calls = new Dictionary<int, string>();
      while (true) {
        byte[] head = Frames.Receive(client, 9);
        byte[] body = Frames.Receive(client, head[0] << 16 | head[1] << 8 | head[2]);
        int stream = (head[5] & 127) << 24 | head[6] << 16 | head[7] << 8 | head[8];
        bool last = (head[4] & 1) != 0;
        // SETTINGS and PING are acknowledged by the flag that ends a stream.
        if (head[3] == 4 && !last) Frames.Send(client, 4, 1, 0, new byte[0]);
        if (head[3] == 6 && !last) Frames.Send(client, 6, 1, 0, body);
        // The first call of a connection spells its path.
        if (head[3] == 1) calls[stream] = Encoding.ASCII.GetString(body);
        if (head[3] == 0 && last) Answer(client, stream, calls[stream].Contains("Probe"));
      }
    } finally {
      client.Close();
      lock (clients) clients.Remove(client);
    }
  }

  void Answer(Socket client, int stream, bool probe) {
    byte[] text = Encoding.ASCII.GetBytes(name);
    List<byte> message = new List<byte>();
    if (probe) {
      // ProbeResponse.ready.value
      message.AddRange(new byte[] { 10, 2, 8, 1 });
    } else {
      // GetPluginInfoResponse.name and .vendor_version
      message.AddRange(new byte[] { 10, (byte)text.Length });
      message.AddRange(text);
      message.AddRange(new byte[] { 18, 1, (byte)'1' });
    }
    message.InsertRange(0, new byte[] { 0, 0, 0, 0, (byte)message.Count });
    // :status 200, content-type, and as the trailer grpc-status 0 (RFC 7541).
    List<byte> headers = new List<byte>(new byte[] { 0x88, 0x0f, 0x10, 16 });
    headers.AddRange(Encoding.ASCII.GetBytes("application/grpc"));
    List<byte> trailers = new List<byte>(new byte[] { 0, 11 });
    trailers.AddRange(Encoding.ASCII.GetBytes("grpc-status"));
    trailers.AddRange(new byte[] { 1, (byte)'0' });
    Frames.Send(client, 1, 4, stream, headers.ToArray());
    Frames.Send(client, 0, 0, stream, message.ToArray());
    Frames.Send(client, 1, 5, stream, trailers.ToArray());
  }
}

public static class Look {
  // Connects, and throws unless the other end answers in HTTP/2.
  public static void Greet(string path) {
    using (Socket socket = Frames.NewSocket()) {
      socket.ReceiveTimeout = 10000;
      socket.Connect(new UnixEndPoint(path));
      socket.Send(Encoding.ASCII.GetBytes(Frames.Preface));
      Frames.Send(socket, 4, 0, 0, new byte[0]);
      byte[] head = Frames.Receive(socket, 9);
      if (head[3] != 4) throw new IOException("what it says is not HTTP/2");
    }
  }

  [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern SafeFileHandle CreateFileW(string path, uint access, uint share, IntPtr security, uint disposition, uint flags, IntPtr template);

  [DllImport("advapi32.dll", SetLastError = true)]
  static extern bool GetKernelObjectSecurity(SafeFileHandle file, uint what, byte[] descriptor, uint size, out uint needed);

  [DllImport("advapi32.dll", SetLastError = true)]
  static extern bool SetKernelObjectSecurity(SafeFileHandle file, uint what, byte[] descriptor);

  // A socket's file cannot be opened but by who does not follow it.
  static SafeFileHandle Open(string path, uint access) {
    // OPEN_EXISTING; FILE_FLAG_OPEN_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS.
    SafeFileHandle file = CreateFileW(path, access, 7, IntPtr.Zero, 3, 0x02200000, IntPtr.Zero);
    if (file.IsInvalid) throw new Win32Exception();
    return file;
  }

  public static RawSecurityDescriptor Descriptor(string path) {
    // READ_CONTROL
    using (SafeFileHandle file = Open(path, 0x20000)) {
      byte[] bytes = new byte[65536];
      uint needed;
      // OWNER_SECURITY_INFORMATION, DACL_SECURITY_INFORMATION.
      if (!GetKernelObjectSecurity(file, 5, bytes, (uint)bytes.Length, out needed)) throw new Win32Exception();
      return new RawSecurityDescriptor(bytes, 0);
    }
  }

  public static void SetAccess(string path, string sddl) {
    RawSecurityDescriptor descriptor = new RawSecurityDescriptor(sddl);
    byte[] bytes = new byte[descriptor.BinaryLength];
    descriptor.GetBinaryForm(bytes, 0);
    // WRITE_DAC
    using (SafeFileHandle file = Open(path, 0x40000)) {
      // DACL_SECURITY_INFORMATION, PROTECTED_DACL_SECURITY_INFORMATION.
      if (!SetKernelObjectSecurity(file, 0x80000004, bytes)) throw new Win32Exception();
    }
  }
}

}
