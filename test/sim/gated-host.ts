import type { SeededRandom } from '../../src/host/fake/seeded-random.ts';
import { FileSystemError } from '../../src/host/file-system.ts';
import type { Host } from '../../src/host/host.ts';
import { MountError } from '../../src/host/mounts.ts';
import type { Gate } from './gate.ts';
import type { PendingFaults } from './pending-faults.ts';

/** The machine as one agent process sees it: behind its gate, with the pending faults. */
export function gatedHost(
  host: Host,
  random: SeededRandom,
  gate: Gate,
  faults: PendingFaults,
  loginManager = host.loginManager,
): Host {
  const plain = <T extends object>(port: T): T => gatedPort(port, gate, () => undefined);
  const failing = <T extends object>(port: T, errorOf: (code: string, name: string, path: string) => Error): T =>
    gatedPort(port, gate, (name, subject) => {
      const code = faults.takeHost(name);
      return code === undefined ? undefined : errorOf(code, name, String(subject));
    });
  const fileError = (code: string, name: string, path: string): Error => new FileSystemError(code, name, path);
  const { fs } = host;
  return {
    clock: gate.clock,
    random,
    signingKeys: plain(host.signingKeys),
    fs: {
      ...failing(fs, fileError),
      watch: (path, signal) => gate.follow(() => fs.watch(path, AbortSignal.any([signal, gate.closed]))),
      watchRemovals: (path, signal) =>
        gate.follow(() => fs.watchRemovals(path, AbortSignal.any([signal, gate.closed]))),
    },
    mounts: failing(
      host.mounts,
      (code, name, target) => new MountError(code, name === 'mount' ? 'mount' : 'unmount', target),
    ),
    projectQuotas: failing(host.projectQuotas, fileError),
    cgroups: { ...failing(host.cgroups, fileError), version: host.cgroups.version },
    systemd: plain(host.systemd),
    loginManager,
    kernelLog: {
      records: (signal) => gate.follow(() => host.kernelLog.records(AbortSignal.any([signal, gate.closed]))),
    },
    javaScriptEngine: host.javaScriptEngine,
    serviceManager: plain(host.serviceManager),
    pressureEvents: plain(host.pressureEvents),
    cgroupStats: { ...plain(host.cgroupStats), version: host.cgroups.version },
    namespaces: plain(host.namespaces),
    networkNamespaces: plain(host.networkNamespaces),
    packetSockets: plain(host.packetSockets),
    connectedPrograms: plain(host.connectedPrograms),
    profiler: plain(host.profiler),
    processes: plain(host.processes),
    folderClaims: plain(host.folderClaims),
    lockFiles: plain(host.lockFiles),
    fifos: plain(host.fifos),
    network: plain(host.network),
    addresses: host.addresses,
  };
}

/** Sends every method of a port through the gate; `fail` may return an error to throw instead. */
function gatedPort<T extends object>(
  port: T,
  gate: Gate,
  fail: (name: string, subject: unknown) => Error | undefined,
): T {
  const methods = [...methodsOf(port)].map(([name, method]) => {
    const call = (...args: unknown[]): Promise<unknown> =>
      gate.pass(() => {
        const error = fail(name, args[0]);
        if (error) throw error;
        return method.apply(port, args);
      });
    return [name, call] as const;
  });
  return Object.fromEntries(methods) as T; // all methods of a port return promises
}

type AnyMethod = (this: object, ...args: unknown[]) => unknown;

function methodsOf(port: object): ReadonlyMap<string, AnyMethod> {
  const methods = new Map<string, AnyMethod>();
  const shapes = [port, Object.getPrototypeOf(port) as object];
  for (const shape of shapes.filter((each) => each !== Object.prototype)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(shape))) {
      if (typeof value === 'function' && name !== 'constructor') methods.set(name, value);
    }
  }
  return methods;
}
