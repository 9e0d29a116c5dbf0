// Starts the service with a simulated node, calls it over its pipes, and reads the node's state.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import grpc from '@grpc/grpc-js';
import loader from '@grpc/proto-loader';

const windows = process.platform === 'win32';
const options = { keepCase: true, longs: String, enums: String, defaults: true };

export class SimulatedNode {
  #program;
  #log;
  // The directory of the sockets, on Linux.
  sockets = windows ? '' : mkdtempSync(join(tmpdir(), 'csi-proxy-nodejs-'));
  #service;
  #clients = new Map();
  // For each pipe and rpc: true if the state showed a change, false if the call only reads, undefined before a call.
  called = new Map();

  constructor(root, program, log) {
    this.root = root;
    this.#program = program;
    this.#log = openSync(log, 'w');
  }

  start() {
    const place = windows ? [] : [`--socket-dir=${this.sockets}`];
    this.#service = spawn(this.#program, ['--host=simulated', ...place], { stdio: ['ignore', this.#log, this.#log] });
  }

  // Kills the service. Returns once the channels know, because a call that is sent before would be lost.
  async kill() {
    // The event of a service that has crashed has passed already.
    if (this.#service.exitCode === null && this.#service.signalCode === null) {
      const ended = new Promise((resolve) => this.#service.once('exit', resolve));
      this.#service.kill('SIGKILL');
      await ended;
    }
    const connected = (client) => client.getChannel().getConnectivityState(false) === grpc.connectivityState.READY;
    while ([...this.#clients.values()].some(connected)) await sleep(1);
  }

  async stop() {
    await this.kill();
    for (const client of this.#clients.values()) client.close();
    if (!windows) rmSync(this.sockets, { recursive: true });
  }

  // gRPC's address of a pipe.
  address(pipe) {
    return windows ? `unix:\\\\.\\pipe\\csi-proxy-${pipe}` : `unix:${this.sockets}/csi-proxy-${pipe}.sock`;
  }

  client(pipe, proto, service) {
    if (!this.#clients.has(pipe)) {
      const loaded = loader.loadSync(join(this.root, proto), { ...options, includeDirs: [this.root] });
      const Client = service.split('.').reduce((at, name) => at[name], grpc.loadPackageDefinition(loaded));
      this.#clients.set(pipe, new Client(this.address(pipe), grpc.credentials.createInsecure()));
      if (pipe !== 'admin') this.called.set(pipe, new Map(Object.keys(Client.service).map((rpc) => [rpc, undefined])));
    }
    return this.#clients.get(pipe);
  }

  // The client of a group's version, by its pipe: `disk-v1`.
  of(pipe) {
    const [group, version] = pipe.split('-');
    return this.client(pipe, `api/${group}/${version}/api.proto`, `${version}.${group[0].toUpperCase()}${group.slice(1)}`);
  }

  admin(rpc, request = {}) {
    return unary(this.client('admin', 'server/simulator/admin.proto', 'csi_proxy.simulated.Admin'), rpc, request);
  }

  async state() {
    return (await this.admin('DumpState')).node;
  }

  // Makes a call that only reads: the answer has the expected fields, and the state stays as it was.
  async ask(pipe, rpc, request, expected) {
    const before = lasting(await this.state());
    const answer = await this.#call(pipe, rpc, request, expected);
    assert.deepEqual(lasting(await this.state()), before, `${pipe} ${rpc} has changed the node`);
    this.called.get(pipe).set(rpc, this.called.get(pipe).get(rpc) ?? false);
    return answer;
  }

  // Makes a call that changes the node: `shows` is false of the state before, and true of the state after.
  async change(pipe, rpc, request, shows, expected) {
    assert.ok(!shows(await this.state()), `before ${pipe} ${rpc} the node is in the state that is awaited: ${shows}`);
    const answer = await this.#call(pipe, rpc, request, expected);
    assert.ok(shows(await this.state()), `after ${pipe} ${rpc} the node is not in the state that is awaited: ${shows}`);
    this.called.get(pipe).set(rpc, true);
    return answer;
  }

  // Makes a call that the service refuses.
  async refused(pipe, rpc, request, code, text) {
    await assert.rejects(unary(this.of(pipe), rpc, request), (error) => {
      assert.equal(grpc.status[error.code], code, `${pipe} ${rpc}: ${error.message}`);
      assert.ok(error.details.includes(text), `${pipe} ${rpc}: ${error.details}`);
      return true;
    });
  }

  async #call(pipe, rpc, request, expected = {}) {
    const answer = await unary(this.of(pipe), rpc, request);
    assert.deepEqual(has(answer, expected), expected, `${pipe} ${rpc}: ${JSON.stringify(answer)}`);
    return answer;
  }
}

// Makes a call, which waits for a service that is still to come.
export function unary(client, rpc, request, deadline = 30_000) {
  const metadata = new grpc.Metadata({ waitForReady: true });
  return new Promise((resolve, reject) => {
    client[rpc](request, metadata, { deadline: Date.now() + deadline }, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

// Picks the expected fields out of an answer.
function has(answer, expected) {
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) return answer;
  return Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, has(answer?.[name], value)]));
}

// Leaves out the fields that time alone changes, as WMI comes to know a new volume.
function lasting(state) {
  return JSON.parse(JSON.stringify(state, (name, value) => (name === 'uncached' || name === 'arriving' ? undefined : value)));
}
