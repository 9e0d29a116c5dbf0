// Part of node-check.ps1: questions to Windows that PowerShell has no command for, asked as the service
// asks them. In C# 5, which Windows PowerShell compiles.
using System;
using System.ComponentModel;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace NodeCheck {

public sealed class VolumeInformation {
  public int Error;
  public uint Flags;
  public string FileSystem;

  public bool ReadOnly { get { return (Flags & 0x00080000) != 0; } }  // FILE_READ_ONLY_VOLUME
}

public static class Native {
  const uint Read = 0x80000000, Write = 0x40000000, ShareRead = 1, ShareWrite = 2;
  const uint OpenExisting = 3, BackupSemantics = 0x02000000, OpenReparsePoint = 0x00200000;
  const uint GetDiskAttributes = 0x000700F0, SetDiskAttributes = 0x0007C0F4;
  const uint GetLength = 0x0007405C, UpdateDriveSize = 0x0007C0C8, GetDriveLayout = 0x00070050;

  [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern SafeFileHandle CreateFile(string name, uint access, uint share, IntPtr security, uint how, uint flags, IntPtr template);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern bool DeviceIoControl(SafeFileHandle device, uint code, byte[] input, int inputSize, byte[] output, int outputSize,
    out int returned, IntPtr overlapped);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern bool ReadFile(SafeFileHandle file, byte[] bytes, int size, out int read, IntPtr overlapped);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern bool SetFilePointerEx(SafeFileHandle file, long distance, IntPtr position, int method);
  [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool GetVolumeInformation(string root, StringBuilder label, int labelSize, IntPtr serial, IntPtr component,
    out uint flags, StringBuilder fileSystem, int fileSystemSize);
  [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool SetVolumeMountPoint(string path, string volume);
  [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool DeleteVolumeMountPoint(string path);
  [DllImport("kernel32.dll", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool GetVolumePathNamesForVolumeName(string volume, char[] names, int size, out int needed);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern bool GetNamedPipeServerProcessId(SafePipeHandle pipe, out uint process);
  [DllImport("kernel32.dll", SetLastError = true)]
  static extern bool IsProcessInJob(IntPtr process, IntPtr job, out bool result);

  static int LastError(bool succeeded) { return succeeded ? 0 : Marshal.GetLastWin32Error(); }

  static SafeFileHandle Open(string name, uint access, uint share, uint flags) {
    SafeFileHandle handle = CreateFile(name, access, share, IntPtr.Zero, OpenExisting, flags, IntPtr.Zero);
    if (handle.IsInvalid) throw new Win32Exception();
    return handle;
  }

  static SafeFileHandle OpenDisk(int number, uint access) {
    return Open(@"\\.\PhysicalDrive" + number, access, ShareRead | ShareWrite, 0);
  }

  public static uint PipeServer(SafePipeHandle pipe) {
    uint process;
    if (!GetNamedPipeServerProcessId(pipe, out process)) throw new Win32Exception();
    return process;
  }

  public static bool InJob(IntPtr process) {
    bool result;
    if (!IsProcessInJob(process, IntPtr.Zero, out result)) throw new Win32Exception();
    return result;
  }

  // Of the root of a volume, `\\?\Volume{...}\`.
  public static VolumeInformation Volume(string root) {
    VolumeInformation told = new VolumeInformation();
    StringBuilder fileSystem = new StringBuilder(64);
    told.Error = LastError(GetVolumeInformation(root, null, 0, IntPtr.Zero, IntPtr.Zero, out told.Flags, fileSystem, 64));
    told.FileSystem = fileSystem.ToString();
    return told;
  }

  // A directory that nobody can remove or swap until the handle is closed, as the service holds it.
  public static SafeFileHandle Hold(string directory) {
    return Open(directory, 1, ShareRead | ShareWrite, BackupSemantics | OpenReparsePoint);
  }

  public static int Mount(string path, string volume) { return LastError(SetVolumeMountPoint(path, volume)); }

  public static int Unmount(string path) { return LastError(DeleteVolumeMountPoint(path)); }

  public static string[] PathNames(string volume) {
    char[] names = new char[32768];
    int needed;
    if (!GetVolumePathNamesForVolumeName(volume, names, names.Length, out needed)) throw new Win32Exception();
    return new string(names, 0, Math.Max(needed - 1, 0)).Split(new[] { '\0' }, StringSplitOptions.RemoveEmptyEntries);
  }

  // The error of opening a device without any right; 0 when it opens.
  public static int OpenError(string name) {
    using (SafeFileHandle handle = CreateFile(name, 0, ShareRead | ShareWrite, IntPtr.Zero, OpenExisting, 0, IntPtr.Zero)) {
      return LastError(!handle.IsInvalid);
    }
  }

  // The attributes of a disk by a handle without any right: 1 is offline, 2 read-only.
  public static ulong DiskAttributes(int number) {
    using (SafeFileHandle disk = OpenDisk(number, 0)) {
      byte[] answer = new byte[16];
      int returned;
      if (!DeviceIoControl(disk, GetDiskAttributes, null, 0, answer, 16, out returned, IntPtr.Zero)) throw new Win32Exception();
      return BitConverter.ToUInt64(answer, 8);
    }
  }

  // Clears the read-only flag with this value as Version of SET_DISK_ATTRIBUTES; returns the error.
  public static int ClearReadOnly(int number, int version) {
    using (SafeFileHandle disk = OpenDisk(number, Read | Write)) {
      byte[] request = new byte[40];
      BitConverter.GetBytes(version).CopyTo(request, 0);
      BitConverter.GetBytes((ulong)2).CopyTo(request, 16);
      int returned;
      return LastError(DeviceIoControl(disk, SetDiskAttributes, request, 40, null, 0, out returned, IntPtr.Zero));
    }
  }

  public static long DiskLength(int number) {
    using (SafeFileHandle disk = OpenDisk(number, Read)) {
      byte[] answer = new byte[8];
      int returned;
      if (!DeviceIoControl(disk, GetLength, null, 0, answer, 8, out returned, IntPtr.Zero)) throw new Win32Exception();
      return BitConverter.ToInt64(answer, 0);
    }
  }

  // Has Windows ask the disk for its size; returns the error.
  public static int UpdateSize(int number) {
    using (SafeFileHandle disk = OpenDisk(number, Read | Write)) {
      int returned;
      return LastError(DeviceIoControl(disk, UpdateDriveSize, null, 0, new byte[64], 64, out returned, IntPtr.Zero));
    }
  }

  // The error of asking for the partitions by a handle that may read.
  public static int LayoutError(int number) {
    using (SafeFileHandle disk = OpenDisk(number, Read)) {
      int returned;
      return LastError(DeviceIoControl(disk, GetDriveLayout, null, 0, new byte[65536], 65536, out returned, IntPtr.Zero));
    }
  }

  // The offset of the first byte in a part of a disk that is not zero, or -1.
  public static long FirstByte(int number, long offset, int size) {
    using (SafeFileHandle disk = OpenDisk(number, Read)) {
      if (!SetFilePointerEx(disk, offset, IntPtr.Zero, 0)) throw new Win32Exception();
      byte[] bytes = new byte[size];
      int read;
      if (!ReadFile(disk, bytes, size, out read, IntPtr.Zero)) throw new Win32Exception();
      if (read != size) throw new InvalidOperationException(read + " bytes were read, not " + size);
      for (int i = 0; i < size; ++i) {
        if (bytes[i] != 0) return offset + i;
      }
      return -1;
    }
  }
}

}  // namespace NodeCheck
