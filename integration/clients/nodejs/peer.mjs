// Calls the service with gRPC's own library for Node.js: the program of client/other-languages.md, one rpc of each
// group, long messages, and the same channels after the service was killed.
//
//   node peer.mjs ROOT PROGRAM LOG     the repository, the service's program, where its log goes
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const [root, program, log] = process.argv.slice(2);
const windows = process.platform === 'win32';
const sockets = windows ? '' : mkdtempSync(join(tmpdir(), 'csi-proxy-nodejs-'));
const output = openSync(log, 'w');
const start = () =>
  spawn(program, ['--host=simulated', ...(windows ? [] : [`--socket-dir=${sockets}`])], { stdio: ['ignore', output, output] });

function client(pipe, proto, name) {
  const loaded = loader.loadSync(join(root, proto), { keepCase: true, longs: String, enums: String, defaults: true, includeDirs: [root] });
  const Client = name.split('.').reduce((at, part) => at[part], grpc.loadPackageDefinition(loaded));
  const address = windows ? `unix:\\\\.\\pipe\\csi-proxy-${pipe}` : `unix:${sockets}/csi-proxy-${pipe}.sock`;
  return new Client(address, grpc.credentials.createInsecure());
}

// Calls an rpc; waits while the service does not run yet.
function unary(of, rpc, request = {}, deadline = 30_000) {
  const metadata = new grpc.Metadata({ waitForReady: true });
  return new Promise((done, fail) => {
    of[rpc](request, metadata, { deadline: Date.now() + deadline }, (error, answer) => (error ? fail(error) : done(answer)));
  });
}

const kubelet = 'C:\\var\\lib\\kubelet';
const target_portal = { target_address: '10.0.0.5', target_port: 3260 };
const share = { remote_path: '\\\\fileserver.example\\data', local_path: '', username: 'EXAMPLE\\storage', password: 'correct horse' };
// Pipe, rpc, request, and a check of the answer.
const calls = [
  ['disk-v1', 'GetDiskStats', { disk_number: 1 }, (a) => a.total_bytes === '10737418240'],
  ['filesystem-v2alpha1', 'PathExists', { path: kubelet }, (a) => a.exists],
  ['iscsi-v1alpha2', 'DiscoverTargetPortal', { target_portal }, (a) => a.iqns.includes('iqn.2026-01.example.storage:open')],
  ['smb-v1', 'NewSmbGlobalMapping', share, (a) => Object.keys(a).length === 0],
  ['storage-v1alpha1', 'ListDisks', {}, (a) => a.disks.length > 1],
  ['system-v1alpha1', 'GetService', { name: 'MSiSCSI' }, (a) => a.status === 'RUNNING'],
  ['volume-v2alpha1', 'GetClosestVolumeIDFromTargetPath', { target_path: kubelet }, (a) => a.volume_id.startsWith('\\\\?\\Volume{')],
];
const clients = new Map();
for (const [pipe] of calls) {
  const [group, version] = pipe.split('-');
  clients.set(pipe, client(pipe, `api/${group}/${version}/api.proto`, `${version}.${group[0].toUpperCase()}${group.slice(1)}`));
}
const ask = async ([pipe, rpc, request, like]) => {
  if (rpc === 'DiscoverTargetPortal') await unary(clients.get(pipe), 'AddTargetPortal', { target_portal });
  const answer = await unary(clients.get(pipe), rpc, request);
  assert.ok(like(answer), `${pipe} ${rpc}: ${JSON.stringify(answer)}`);
};

let service = start();
try {
  for (const call of calls) await ask(call);

  // The program of client/other-languages.md.
  const [, page] = /```js\n(.*?)```/s.exec(readFileSync(join(root, 'client/other-languages.md'), 'utf8'));
  writeFileSync('example.mjs', page.replace('/run/csi-proxy', sockets));
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('example.mjs')], { cwd: root });
  assert.equal(stdout, '{ exists: true }\n');

  // Messages several times as long as the buffers of the pipe and of Node.js (at most 64 KiB).
  const files = clients.get('filesystem-v2alpha1');
  await assert.rejects(unary(files, 'PathExists', { path: `C:\\${'p'.repeat(200_000)}` }), { code: grpc.status.INVALID_ARGUMENT });
  const admin = client('admin', 'server/simulator/admin.proto', 'csi_proxy.simulated.Admin');
  const page83s = Array.from({ length: 250 }, (_, disk) => `${disk}`.padStart(1000, '-'));
  for (const page83 of page83s) await unary(admin, 'AttachDisk', { choose_number: true, disk: { size_bytes: String(1n << 30n), page83 } });
  const { disks } = await unary(clients.get('storage-v1alpha1'), 'ListDisks');
  assert.deepEqual(disks.slice(-page83s.length).map((disk) => disk.page83), page83s);
  await Promise.all(Array.from({ length: 200 }, () => unary(files, 'PathExists', { path: kubelet })));
  admin.close();

  service.kill('SIGKILL');
  await once(service, 'exit');
  while ([...clients.values()].some((c) => c.getChannel().getConnectivityState(false) === grpc.connectivityState.READY)) await sleep(1);
  service = start();
  for (const call of calls) await ask(call);
} finally {
  if (service.exitCode === null && service.signalCode === null) {
    service.kill('SIGKILL');
    await once(service, 'exit');
  }
  for (const one of clients.values()) one.close();
}
console.log(`${calls.length} groups twice, Node.js ${process.version}, libuv ${process.versions.uv}`);
