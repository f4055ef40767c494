/**
 * One gRPC health check on a connection of its own, as a probe makes it: with `@grpc/grpc-js` and with the direct HTTP/2
 * connection of the probes, alternating in one run. The server is in a process of its own.
 *
 *   scripts/node test/bench/grpc-health.ts [--rounds 500]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs, promisify } from 'node:util';
import { Client, credentials } from '@grpc/grpc-js';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { HEALTH_CHECK, healthRequest } from '../../src/kubelet/probes/grpc-health.ts';
import { startHealthServer } from '../integration/grpc-health-server.ts';
import { row, timed } from './both-runtimes.ts';

const HOST = '127.0.0.1';

if (process.send) {
  const { port } = await startHealthServer(HOST);
  process.send(port);
} else {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '500' } } });
  await compare(Number(values.rounds));
}

async function compare(rounds: number): Promise<void> {
  const server = fork(import.meta.filename);
  const [port] = (await once(server, 'message')) as [number];
  const { network } = createLinuxHost(process.env);
  const signal = new AbortController().signal;
  const byLibrary = async (): Promise<void> => {
    const client = new Client(`${HOST}:${port}`, credentials.createInsecure());
    const identity = (bytes: Buffer): Buffer => bytes;
    const call = promisify(client.makeUnaryRequest.bind(client)) as (...args: unknown[]) => Promise<unknown>;
    await call(HEALTH_CHECK, identity, identity, Buffer.from(healthRequest('')));
    client.close();
  };
  const direct = async (): Promise<void> => {
    const connection = await network.grpc({ host: HOST, port }, 'bench', signal);
    await connection.call({ path: HEALTH_CHECK, message: healthRequest(''), timeoutMs: 1000 }, signal);
    connection.close();
  };
  const ways = [byLibrary, direct];
  const times: [number[], number[]] = [[], []];
  const cpu: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const [side, way] of ways.entries()) {
      const before = process.cpuUsage();
      times[side]?.push(await timed(way));
      const { user, system } = process.cpuUsage(before);
      cpu[side]?.push((user + system) / 1000);
    }
  }
  server.kill();
  console.log('left: @grpc/grpc-js, right: direct HTTP/2');
  row('one check', times, 'ms');
  row('CPU of one check', cpu, 'ms');
}
