import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type ControlPlane, started } from './cluster-fixture.ts';
import { unmountBelow } from './containerd-leftovers.ts';
import { end } from './daemon-fixture.ts';
import { freePort } from './free-port.ts';
import { nodeAddress } from './go-kubelet.ts';
import type { TestRuntime } from './runtime-fixture.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
/** Of the one agent that a machine can have as its kubelet. */
const SOCKET = '/run/nodelet/nodelet.sock';

/** `nodelet kubelet` as a node of a control plane. */
export interface NodeletNode {
  readonly nodeName: string;
  readonly logPath: string;
  pid(): number;
  /** Ends it with SIGKILL and starts it again on the same folder. Containers go on. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** What differs from a node that was given its certificates. */
export interface Joining {
  /** It asks for those of its own, at first as who this file says. */
  readonly bootstrapKubeconfig?: string;
}

/** Why there cannot be one now, for `{ skip }` of a test; `false` when there can. */
export function nodeletNodeSkipReason(): string | false {
  if (!nodeAddress()) return 'needs an address beside loopback';
  // A file that nobody listens on is no agent.
  return readFileSync('/proc/net/unix', 'utf8').includes(SOCKET) && `another agent is running (${SOCKET})`;
}

/** Resolves when the API server has it as a node that is ready. */
export async function startNodeletNode(
  plane: ControlPlane,
  runtime: TestRuntime,
  nodeName: string,
  joining: Joining = {},
): Promise<NodeletNode> {
  const folder = join(plane.folder, nodeName);
  mkdirSync(folder);
  const logPath = join(folder, 'nodelet.log');
  const config = join(folder, 'kubelet.json');
  writeFileSync(config, JSON.stringify(await configuration(folder, plane, runtime, joining)));
  const args = [
    'kubelet',
    `--config=${config}`,
    ...identity(plane, folder, joining),
    `--hostname-override=${nodeName}`,
    `--node-ip=${nodeAddress()}`,
    `--root-dir=${join(folder, 'root')}`,
    `--cert-dir=${join(folder, 'certs')}`,
  ];
  const start = () => {
    const log = openSync(logPath, 'a');
    const before = readFileSync(logPath, 'utf8').length;
    const daemon = spawn('setpriv', ['--pdeathsig', 'TERM', BIN, ...args], { stdio: ['ignore', log, log] });
    closeSync(log);
    return started(daemon, async () => readFileSync(logPath, 'utf8').slice(before).includes('started'), logPath);
  };
  let daemon = await start();
  await plane.kubectl('wait', `node/${nodeName}`, '--for=create', '--timeout=60s');
  await plane.kubectl('wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=60s');
  return {
    nodeName,
    logPath,
    pid: () => daemon.pid ?? 0,
    async restart() {
      await end(daemon, 'SIGKILL');
      daemon = await start();
    },
    async stop() {
      await end(daemon, 'SIGTERM');
      unmountBelow(folder); // the volumes of pods that it had no time for
    },
  };
}

function identity(plane: ControlPlane, folder: string, { bootstrapKubeconfig }: Joining): readonly string[] {
  if (bootstrapKubeconfig !== undefined) {
    return [`--kubeconfig=${join(folder, 'kubelet.conf')}`, `--bootstrap-kubeconfig=${bootstrapKubeconfig}`];
  }
  const subject = { user: `system:node:${basename(folder)}`, groups: ['system:nodes'] };
  return [`--kubeconfig=${plane.kubeconfig(subject)}`];
}

function servingFiles(authority: ControlPlane['authority'], address: string): object {
  const { certFile, keyFile } = authority.issue({ user: `server-${address}`, addresses: [address] });
  return { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile };
}

async function configuration(
  folder: string,
  { authority }: ControlPlane,
  { endpoint, cgroupParent }: TestRuntime,
  { bootstrapKubeconfig }: Joining,
): Promise<object> {
  const address = nodeAddress();
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    port: await freePort(address),
    ...(bootstrapKubeconfig === undefined
      ? servingFiles(authority, address)
      : { rotateCertificates: true, serverTLSBootstrap: true }),
    authentication: { x509: { clientCAFile: authority.caFile } },
    containerRuntimeEndpoint: endpoint,
    podLogsDir: join(folder, 'logs'),
    resolvConf: '/dev/null',
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroupParent,
  };
}
