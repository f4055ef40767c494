/**
 * The cost of the API server client: watches of single objects, followed pods, and short requests.
 *
 *   scripts/node --expose-gc test/bench/api-server-client.ts [--http1] [--watches 200] [--pods 250] [--idle-seconds 60]
 *
 * The client runs in this process, a kube-apiserver with its etcd beside it. `--http1` disables HTTP/2 of the server.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import type { HttpApiServer } from '../../src/kubelet/api-client/http-api-server.ts';
import { runReflector } from '../../src/kubelet/api-client/reflector.ts';
import { connectTo } from '../integration/cluster-client-fixture.ts';
import { type ControlPlane, podOn, startControlPlane } from '../integration/cluster-fixture.ts';

const NODE = 'bench';
const ROOT_CA = { resource: 'configmaps', namespace: 'default', name: 'kube-root-ca.crt' } as const;
const BY_NAME = {
  resource: 'configmaps',
  namespace: 'default',
  fieldSelector: `metadata.name=${ROOT_CA.name}`,
} as const;
const PODS = { resource: 'pods', namespace: 'default', fieldSelector: `spec.nodeName=${NODE}` } as const;

const { values } = parseArgs({
  options: {
    http1: { type: 'boolean', default: false },
    watches: { type: 'string', default: '200' },
    pods: { type: 'string', default: '250' },
    'idle-seconds': { type: 'string', default: '60' },
  },
});

interface Cost {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mb: number;
  readonly serverMb: number;
  readonly sockets: number;
}

const plane = await startControlPlane(...(values.http1 ? ['--disable-http2-serving'] : []));
const life = new AbortController();
try {
  await firstAnswers();
  using api = await connectTo(plane.kubeconfig());
  await api.get(ROOT_CA, life.signal);
  await watches(api, Number(values.watches));
  await pods(api, Number(values.pods));
  await questions(api);
} finally {
  life.abort();
  await plane.stop();
}

async function firstAnswers(): Promise<void> {
  const taken: number[] = [];
  for (let left = 21; left > 0; left--) {
    using api = await connectTo(plane.kubeconfig());
    const start = performance.now();
    await api.get(ROOT_CA, life.signal);
    taken.push(performance.now() - start);
  }
  const [median = 0] = taken.toSorted((a, b) => a - b).slice(10);
  report(`first response of a new client, median of 21: ${median.toFixed(1)} ms`);
}

async function questions(api: HttpApiServer): Promise<void> {
  const ask = (): Promise<unknown> => api.get(ROOT_CA, life.signal);
  for (let left = 500; left > 0; left--) await ask();
  const inTurn = await costOf(async () => {
    for (let left = 2000; left > 0; left--) await ask();
  });
  report('2000 requests, sequential', inTurn);
  const besides = await costOf(async () => {
    for (let left = 40; left > 0; left--) await Promise.all(Array.from({ length: 50 }, ask));
  });
  report('2000 requests, 50 in parallel', besides);
}

async function watches(api: HttpApiServer, count: number): Promise<void> {
  const open = await costOf(async () => {
    const watching = Array.from({ length: count }, () =>
      api.watch({ ...BY_NAME, resourceVersion: '0' }, life.signal)[Symbol.asyncIterator](),
    );
    await Promise.all(watching.map((each) => each.next()));
    for (const each of watching) each.next().catch(() => {});
  });
  report(`${count} watches of single objects`, open);
  report(`idle for ${values['idle-seconds']} s`, await costOf(() => delay(Number(values['idle-seconds']) * 1000)));
}

async function pods(api: HttpApiServer, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, index) => `pod-${index}`);
  const containers = [{ name: 'main', image: 'example.test/main:1' }];
  for (let at = 0; at < count; at += 50) {
    await plane.apply(...names.slice(at, at + 50).map((name) => podOn(NODE, name, { containers })));
  }
  let seen = 0;
  const changed = Promise.withResolvers<void>();
  const listed = Promise.withResolvers<void>();
  const handler = {
    onList: () => listed.resolve(),
    onChange: () => (++seen === count ? changed.resolve() : undefined),
  };
  const follow = await costOf(async () => {
    void runReflector(PODS, handler, { ...createLinuxHost(process.env), api, log: silentLog }, life.signal);
    await listed.promise;
  });
  report(`${count} pods listed and followed`, follow);
  const changes = await costOf(async () => {
    for (const name of names) {
      const patch = { status: { message: 'changed' } };
      await api.patch({ resource: 'pods', namespace: 'default', name }, patch, { subresource: 'status' }, life.signal);
    }
    await changed.promise;
  });
  report(`${count} changes of a status, each received`, changes);
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  await settle();
  const before = { ...now(), cpu: process.cpuUsage(), at: performance.now() };
  await work();
  const ms = performance.now() - before.at;
  const cpu = process.cpuUsage(before.cpu);
  await settle();
  const after = now();
  return {
    ms,
    cpuMs: (cpu.user + cpu.system) / 1000,
    mb: after.mb - before.mb,
    serverMb: after.serverMb - before.serverMb,
    sockets: after.sockets - before.sockets,
  };
}

async function settle(): Promise<void> {
  for (let left = 3; left > 0; left--) {
    globalThis.gc?.();
    await delay(100);
  }
}

function now() {
  return { mb: residentMb('self'), serverMb: residentMb(serverPid(plane)), sockets: ownSockets() };
}

function residentMb(pid: string): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

function serverPid({ folder }: ControlPlane): string {
  const isServer = (pid: string): boolean => {
    const command = readText(`/proc/${pid}/cmdline`);
    return /kube-apiserver\0/.test(command) && command.includes(`${folder}/`);
  };
  return readdirSync('/proc').find((name) => /^\d+$/.test(name) && isServer(name)) ?? 'self';
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // it has exited meanwhile
  }
}

function ownSockets(): number {
  const links = readdirSync('/proc/self/fd').map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return ''; // the descriptor of the listing itself
    }
  });
  return links.filter((link) => link.startsWith('socket:')).length;
}

function report(what: string, cost?: Cost): void {
  const protocol = values.http1 ? 'HTTP/1.1' : 'HTTP/2';
  const figures =
    cost === undefined
      ? ''
      : `: ${cost.ms.toFixed(0)} ms, ${cost.cpuMs.toFixed(0)} ms CPU, ${cost.mb.toFixed(1)} MB, ` +
        `${cost.sockets} more sockets; the server ${cost.serverMb.toFixed(1)} MB`;
  process.stdout.write(`${protocol}: ${what}${figures}\n`);
}
