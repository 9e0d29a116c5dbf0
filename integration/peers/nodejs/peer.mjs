// Calls every rpc of the newest and of the stable versions with gRPC's own library for Node.js, and
// checks the state of the node after each. Then it tries the connection: long messages, many calls,
// refusals, a service that is killed.
//
//   node peer.mjs ROOT PROGRAM LOG     the repository, the service's program, where its log goes
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { SimulatedNode, unary } from './simulated_node.mjs';

const [root, program, log] = process.argv.slice(2);
const readme = readFileSync(join(root, 'integration/peers/nodejs/README.md'), 'utf8');
const node = new SimulatedNode(root, program, log);
const plugins = 'C:\\var\\lib\\kubelet\\plugins';
const pods = 'C:\\var\\lib\\kubelet\\pods';

const diskOf = (state, number) => state.disk.find((disk) => disk.number === number);
const volumeOf = (state, number) => diskOf(state, number).partition.map((partition) => partition.volume).find(Boolean);
// Finds a path of drive C: in the list of the volume's files.
const fileAt = (state, path) =>
  state.disk.flatMap((disk) => disk.partition).find((partition) => partition.volume?.drive_letter === 'C')
    .volume.file.find((file) => file.path === path.slice('C:\\'.length));
const serviceOf = (state, name) => state.service.find((service) => service.name === name);
const targetOf = (state, iqn) => state.iscsi_portal[0].target.find((target) => target.iqn === iqn);

// A disk from raw to a mounted volume in a pod and back.
async function volumeLife(number, size, files, volumes) {
  const disks = 'disk-v1';
  const mount = `${plugins}\\${files}`;
  const link = `${pods}\\${files}`;
  await node.change(disks, 'PartitionDisk', { disk_number: number }, (state) => volumeOf(state, number) !== undefined);
  const { volume_ids: [volume_id] } = await node.ask(volumes, 'ListVolumesOnDisk', { disk_number: number });
  assert.equal(volume_id, volumeOf(await node.state(), number).id);
  await node.ask(volumes, 'IsVolumeFormatted', { volume_id }, { formatted: false });
  await node.change(volumes, 'FormatVolume', { volume_id }, (state) => volumeOf(state, number).file_system === 'NTFS');
  await node.ask(volumes, 'IsVolumeFormatted', { volume_id }, { formatted: true });
  await node.ask(volumes, 'GetDiskNumberFromVolumeID', { volume_id }, { disk_number: number });

  await node.ask(files, 'PathExists', { path: mount }, { exists: false });
  await node.change(files, 'Mkdir', { path: mount }, (state) => fileAt(state, mount)?.kind === 'DIRECTORY');
  await node.ask(files, 'PathExists', { path: mount }, { exists: true });
  await node.change(volumes, 'MountVolume', { volume_id, target_path: mount },
    (state) => fileAt(state, mount).mounted_volume_id === volume_id);
  await node.ask(volumes, 'GetVolumeIDFromTargetPath', { target_path: mount }, { volume_id });
  await node.change(files, 'CreateSymlink', { source_path: mount, target_path: link },
    (state) => fileAt(state, link)?.target === mount);
  await node.ask(files, 'IsSymlink', { path: link }, { is_symlink: true });
  if (volumes === 'volume-v2alpha1') {
    await node.ask(volumes, 'GetClosestVolumeIDFromTargetPath', { target_path: link }, { volume_id });
    await node.admin('WriteFile', { path: `${mount}\\kept\\a\\b.txt`, size_bytes: 7 });
    await node.change(files, 'RmdirContents', { path: `${mount}\\kept` },
      (state) => volumeOf(state, number).file.map((file) => file.path).join() === 'kept');
  }

  await node.ask(volumes, 'WriteVolumeCache', { volume_id });
  await node.admin('InjectFault', { fault: { operation: 'win32.Flush', times: 1, code: 'INTERNAL', error: { code: 5 } } });
  await node.refused(volumes, 'WriteVolumeCache', { volume_id }, 'PERMISSION_DENIED', 'win32.Flush failed');
  const before = await node.ask(volumes, 'GetVolumeStats', { volume_id });
  await node.admin('GrowDisk', { disk_number: number, size_bytes: String(2n * size) });
  await node.change(disks, 'Rescan', {}, (state) => diskOf(state, number).size_bytes === String(2n * size));
  const room = (state) => BigInt(diskOf(state, number).partition.at(-1).size_bytes);
  await node.change(volumes, 'ResizeVolume', { volume_id, size_bytes: 0 }, (state) => room(state) > size);
  const after = await node.ask(volumes, 'GetVolumeStats', { volume_id });
  assert.ok(BigInt(after.total_bytes) > BigInt(before.total_bytes));
  assert.ok(BigInt(after.used_bytes) > 0n);

  await node.change(files, 'Rmdir', { path: link }, (state) => fileAt(state, link) === undefined);
  await node.change(volumes, 'UnmountVolume', { volume_id, target_path: mount },
    (state) => !fileAt(state, mount).mounted_volume_id);
  await node.change(files, 'Rmdir', { path: mount, force: true }, (state) => fileAt(state, mount) === undefined);
  await node.change(disks, 'SetDiskState', { disk_number: number, is_online: false }, (state) => diskOf(state, number).offline);
  await node.ask(disks, 'GetDiskState', { disk_number: number }, { is_online: false });
}

async function disks() {
  await node.ask('disk-v1', 'ListDiskIDs', {}, { diskIDs: { 2: { serial_number: 'vol0a1b2c3d4e5f60789' } } });
  await node.ask('disk-v1', 'ListDiskLocations', {}, { disk_locations: { 1: { Adapter: '3', Target: '0', LUNID: '0' } } });
  await node.ask('disk-v1', 'GetDiskStats', { disk_number: 1 }, { total_bytes: '10737418240' });
}

async function share() {
  const share = { remote_path: '\\\\fileserver.example\\data', local_path: `${plugins}\\share` };
  const credentials = { username: 'EXAMPLE\\storage', password: 'correct horse' };
  const mapped = (state) => state.smb_mapping.some((mapping) => mapping.remote_path === share.remote_path);
  await node.refused('smb-v1', 'NewSmbGlobalMapping', { ...share, ...credentials, password: 'wrong' }, 'FAILED_PRECONDITION', 'password is incorrect');
  await node.change('smb-v1', 'NewSmbGlobalMapping', { ...share, ...credentials },
    (state) => mapped(state) && fileAt(state, share.local_path)?.target.startsWith(share.remote_path));
  await node.ask('storage-v1alpha1', 'ListSmbMappings', {},
    { mappings: [{ remote_path: share.remote_path, status: 'OK', links: [share.local_path] }] });
  await node.change('smb-v1', 'RemoveSmbGlobalMapping', { remote_path: share.remote_path }, (state) => !mapped(state));
  await node.change('filesystem-v1', 'Rmdir', { path: share.local_path }, (state) => fileAt(state, share.local_path) === undefined);
}

async function targets() {
  const pipe = 'iscsi-v1alpha2';
  const target_portal = { target_address: '10.0.0.5', target_port: 3260 };
  const open = 'iqn.2026-01.example.storage:open';
  const mutual = 'iqn.2026-01.example.storage:mutual';
  await node.change(pipe, 'AddTargetPortal', { target_portal }, (state) => state.iscsi_portal[0].registered);
  await node.ask(pipe, 'ListTargetPortals', {}, { target_portals: [target_portal] });
  const { iqns } = await unary(node.of(pipe), 'DiscoverTargetPortal', { target_portal });
  assert.ok(iqns.includes(open) && iqns.includes(mutual));
  await node.ask(pipe, 'DiscoverTargetPortal', { target_portal }, { iqns });
  await node.change(pipe, 'ConnectTarget', { target_portal, iqn: open }, (state) => targetOf(state, open).connected);
  await node.ask(pipe, 'GetTargetDisks', { target_portal, iqn: open }, { diskIDs: ['10', '11'] });
  await node.change(pipe, 'DisconnectTarget', { target_portal, iqn: open }, (state) => !targetOf(state, open).connected);
  await node.change(pipe, 'SetMutualChapSecret', { MutualChapSecret: 'mutual-secret1' },
    (state) => state.iscsi_mutual_chap_secret === '<secret>');
  await node.change(pipe, 'ConnectTarget',
    { target_portal, iqn: mutual, auth_type: 'MUTUAL_CHAP', chap_username: 'node-1', chap_secret: 'one-way-secret' },
    (state) => targetOf(state, mutual).connected);
  await node.change(pipe, 'DisconnectTarget', { target_portal, iqn: mutual }, (state) => !targetOf(state, mutual).connected);
  await node.change(pipe, 'RemoveTargetPortal', { target_portal }, (state) => !state.iscsi_portal[0].registered);
}

async function system() {
  const pipe = 'system-v1alpha1';
  const name = 'MSiSCSI';
  const { bios_serial_number: serial_number } = await node.state();
  await node.ask(pipe, 'GetBIOSSerialNumber', {}, { serial_number });
  await node.change(pipe, 'StopService', { name }, (state) => serviceOf(state, name).state === 'STOPPED');
  await node.ask(pipe, 'GetService', { name }, { start_type: 'MANUAL', status: 'STOPPED' });
  await node.change(pipe, 'StartService', { name }, (state) => serviceOf(state, name).state === 'RUNNING');
}

async function staging() {
  const pipe = 'storage-v1alpha1';
  const target_path = `${plugins}\\staged`;
  const { disk_number } = await node.admin('AttachDisk',
    { choose_number: true, disk: { size_bytes: String(8n << 30n), serial_number: 'vol77', awaits_rescan: true } });
  const { volume_id } = await node.change(pipe, 'StageVolume', { disk: { serial_number: 'vol77' }, target_path },
    (state) => fileAt(state, target_path)?.mounted_volume_id === volumeOf(state, disk_number)?.id && volumeOf(state, disk_number));
  const { disks } = await node.ask(pipe, 'ListDisks', {});
  assert.deepEqual(disks.filter((disk) => disk.serial_number === 'vol77').map((disk) => disk.number), [disk_number]);
  await node.ask(pipe, 'GetPathStats', { path: target_path }, { volume_id });
  await node.ask(pipe, 'GetVolumeHealth', { volume_id }, { abnormal: false, disk_number });
  await node.ask(pipe, 'ListMounts', {}, { mounts: [{ path: target_path, kind: 'MOUNTED_VOLUME', target: volume_id, state: 'ALIVE' }] });
  await node.change(pipe, 'SetDiskReadOnly', { disk_number, read_only: true }, (state) => diskOf(state, disk_number).read_only);
  await node.change(pipe, 'SetDiskReadOnly', { disk_number, read_only: false }, (state) => !diskOf(state, disk_number).read_only);
  await node.change(pipe, 'FormatVolume', { volume_id, label: 'anew', overwrite: true },
    (state) => volumeOf(state, disk_number).label === 'anew');
  await node.change(pipe, 'UnstageVolume', { target_path }, (state) => diskOf(state, disk_number).offline);
  const remote_path = '\\\\fileserver.example\\data';
  const isMapped = (state) => (state.smb_mapping ?? []).some((mapping) => mapping.remote_path === remote_path);
  await node.change(pipe, 'StageShare', { remote_path, target_path, username: 'EXAMPLE\\storage', password: 'correct horse' }, isMapped);
  await node.change(pipe, 'UnstageShare', { target_path, remote_path }, (state) => !isMapped(state));
  const iqn = 'iqn.2026-01.example.storage:open';
  await node.change(pipe, 'StageTarget', { portals: ['10.0.0.5'], iqn, lun_id: '0', persistent: true, target_path },
    (state) => targetOf(state, iqn).persistent && fileAt(state, target_path)?.mounted_volume_id);
  await node.change(pipe, 'UnstageTarget', { target_path, iqn }, (state) => !targetOf(state, iqn).connected);
}

// The program of client/README.md.
async function page() {
  const [, program] = /```js\n(.*?)```/s.exec(readFileSync(join(root, 'client/README.md'), 'utf8'));
  writeFileSync('example.mjs', program.replace('/run/csi-proxy', node.sockets));
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('example.mjs')], { cwd: root });
  assert.equal(stdout, '{ exists: true }\n');
}

// Messages that fill the buffers of the pipe and of Node.js, the largest of which has 64 KiB, many times over.
async function longMessages() {
  const page83s = Array.from({ length: 250 }, (_, disk) => `${disk}`.padStart(1000, '-'));
  for (const page83 of page83s) await node.admin('AttachDisk', { choose_number: true, disk: { size_bytes: String(1n << 30n), page83 } });
  for (let call = 0; call < 20; ++call) {
    const { disks } = await unary(node.of('storage-v1alpha1'), 'ListDisks', {});
    assert.deepEqual(disks.slice(-page83s.length).map((disk) => disk.page83), page83s);
  }
  await node.refused('filesystem-v1', 'PathExists', { path: `C:\\${'p'.repeat(200_000)}` }, 'INVALID_ARGUMENT', 'path');
}

async function manyCalls() {
  const path = `${plugins}\\many`;
  await Promise.all(Array.from({ length: 200 }, (_, i) => unary(node.of('filesystem-v1'), 'Mkdir', { path: `${path}\\${i % 50}` })));
  const state = await node.state();
  assert.equal(state.disk[0].partition.at(-1).volume.file.filter((file) => file.path.includes('\\many\\')).length, 50);
}

async function refusals() {
  await node.refused('filesystem-v1', 'PathExists', { path: 'relative' }, 'INVALID_ARGUMENT', 'relative');
  await node.refused('disk-v1', 'GetDiskStats', { disk_number: 66 }, 'NOT_FOUND', 'there is no disk 66');
  await node.refused('filesystem-v1', 'Mkdir', { path: 'C:\\Windows\\x' }, 'PERMISSION_DENIED', '');
}

async function deadline() {
  await node.admin('InjectFault', { fault: { operation: 'disk.Rescan', latency_ms: 20_000, times: 1 } });
  const began = Date.now();
  await assert.rejects(unary(node.of('disk-v1'), 'Rescan', {}, 500), { code: 4 });
  assert.ok(Date.now() - began < 5_000);
  await node.admin('ClearFaults');
}

// The same channels, when the service has been killed and is there again.
async function restart() {
  await node.kill();
  node.start();
  await node.ask('filesystem-v1', 'PathExists', { path: plugins }, { exists: true });
  await node.ask('disk-v1', 'GetDiskStats', { disk_number: 1 }, { total_bytes: '10737418240' });
}

node.start();
const steps = {
  disks, 'volumes, v1': () => volumeLife(1, 10n << 30n, 'filesystem-v1', 'volume-v1'),
  'volumes, v2alpha1': () => volumeLife(2, 20n << 30n, 'filesystem-v2alpha1', 'volume-v2alpha1'),
  share, targets, system, staging, page, refusals, 'many calls': manyCalls, 'long messages': longMessages, deadline, restart,
};
try {
  for (const [name, step] of Object.entries(steps)) {
    const began = Date.now();
    await step();
    console.log(`${name}: ${Date.now() - began} ms`);
  }
} finally {
  await node.stop();
}

// The rows of README.md; the rpcs whose change the state has shown are bold.
let rpcs = 0;
for (const [pipe, called] of [...node.called].sort()) {
  const missing = [...called].filter(([, changed]) => changed === undefined).map(([rpc]) => rpc);
  assert.deepEqual(missing, [], `${pipe}: not called`);
  rpcs += called.size;
  const row = `| ${pipe} | ${[...called].map(([rpc, changed]) => (changed ? `**${rpc}**` : rpc)).join(', ')} |`;
  assert.ok(readme.includes(`${row} ${called.size} | ${called.size} |\n`), `README.md lacks the row\n${row}`);
}
console.log(`${rpcs} rpcs of ${node.called.size} pipes, Node.js ${process.version}, libuv ${process.versions.uv}`);
