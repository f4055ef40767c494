import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { type ControlPlane, clusterSkipReason, started } from './cluster-fixture.ts';
import { clusterTool, clusterToolsSkipReason } from './cluster-tools.ts';
import { unmountBelow } from './containerd-leftovers.ts';
import { end } from './daemon-fixture.ts';
import { freePort } from './free-port.ts';

/** Kubelet itself, the one of Kubernetes, as a node of a control plane. */
export interface GoKubelet {
  readonly nodeName: string;
  readonly logPath: string;
  /** Of its volumes, its logs and its configuration. */
  readonly folder: string;
  /** Ends it with SIGKILL; what it has made stays for the next one on the same folder. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface GoKubeletParts {
  readonly plane: ControlPlane;
  readonly nodeName: string;
  /** Of the CRI runtime. */
  readonly endpoint: string;
  /** Below which it puts the cgroups of pods. It is the runtime's, so it goes with that one. */
  readonly cgroupParent: string;
  /** Another program that takes the flags and the configuration of kubelet. */
  readonly command?: readonly string[];
  /** More of the configuration. */
  readonly config?: object;
}

/** Kubelet has a socket for device plugins here whatever its own folder is. */
const DEVICE_PLUGINS = '/var/lib/kubelet/device-plugins';
/** Signs of a kubelet that this machine has in earnest, whose sockets ours would take. */
const OTHER_KUBELET = ['/var/lib/kubelet/config.yaml', '/var/lib/kubelet/pods', '/etc/kubernetes/kubelet.conf'];

/** Why this machine cannot run it, for `{ skip }` of a test; `false` when it can. */
export function goKubeletSkipReason(): string | false {
  if (OTHER_KUBELET.some((path) => existsSync(path))) return 'this machine is a node of a cluster';
  if (!nodeAddress()) return 'needs an address beside loopback';
  return clusterSkipReason() || clusterToolsSkipReason('kubelet');
}

/** Resolves when the node is ready. A node of that name may have had another one before: it goes on from there. */
export async function startGoKubelet(parts: GoKubeletParts): Promise<GoKubelet> {
  const { plane, nodeName, endpoint, cgroupParent, command = [clusterTool('kubelet')] } = parts;
  const folder = join(plane.folder, nodeName);
  mkdirSync(folder, { recursive: true });
  makeCgroups(cgroupParent);
  const address = nodeAddress();
  const config = join(folder, 'kubelet.json');
  const logPath = join(folder, 'kubelet.log');
  const serving = plane.authority.issue({ user: `${nodeName}-server`, addresses: [address] });
  const port = await freePort(address);
  writeFileSync(
    config,
    JSON.stringify({
      ...configuration({ folder, address, port, endpoint, cgroupParent, serving, plane }),
      ...parts.config,
    }),
  );
  const args = [
    `--config=${config}`,
    `--kubeconfig=${plane.kubeconfig({ user: `system:node:${nodeName}`, groups: ['system:nodes'] })}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${address}`,
    `--root-dir=${join(folder, 'root')}`,
    `--cert-dir=${join(folder, 'certs')}`,
  ];
  const ready = async (): Promise<string> => {
    const condition = '.status.conditions[?(@.type=="Ready")]';
    const jsonpath = `-ojsonpath={${condition}.status} {${condition}.lastHeartbeatTime}`;
    return plane.kubectl('get', 'node', nodeName, '--ignore-not-found', jsonpath);
  };
  const before = await ready();
  const isReady = async (): Promise<boolean> => {
    const now = await ready();
    return now.startsWith('True') && now !== before;
  };
  const daemon = await started(launch([...command, ...args], logPath), isReady, logPath);
  return {
    nodeName,
    logPath,
    folder,
    kill: () => end(daemon, 'SIGKILL'),
    async stop() {
      await end(daemon, 'SIGTERM');
      unmountBelow(folder); // the volumes of pods that it had no time for
      rmSync(DEVICE_PLUGINS, { recursive: true, force: true });
      const kubeletsOwn = dirname(DEVICE_PLUGINS);
      if (existsSync(kubeletsOwn) && readdirSync(kubeletsOwn).length === 0) rmdirSync(kubeletsOwn);
    },
  };
}

interface Settings {
  readonly folder: string;
  readonly address: string;
  readonly port: number;
  readonly endpoint: string;
  readonly cgroupParent: string;
  readonly serving: { readonly certFile: string; readonly keyFile: string };
  readonly plane: ControlPlane;
}

function configuration({ folder, address, port, endpoint, cgroupParent, serving, plane }: Settings): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    port,
    healthzPort: 0,
    tlsCertFile: serving.certFile,
    tlsPrivateKeyFile: serving.keyFile,
    authentication: { x509: { clientCAFile: plane.authority.caFile }, anonymous: { enabled: false } },
    containerRuntimeEndpoint: endpoint,
    podLogsDir: join(folder, 'logs'),
    resolvConf: '/dev/null',
    // What this machine may have or lack: cgroups of version 1, no systemd, swap, a right that lowers the OOM score.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroupParent,
    enforceNodeAllocatable: ['pods'],
    failSwapOn: false,
    oomScoreAdj: 0,
    evictionHard: { 'memory.available': '1Mi' },
    makeIPTablesUtilChains: false,
    volumePluginDir: join(folder, 'volume-plugins'),
    nodeStatusUpdateFrequency: '1s',
  };
}

function launch(command: readonly string[], logPath: string): ChildProcess {
  const log = openSync(logPath, 'a');
  // It goes when this process goes, however that ends.
  const daemon = spawn('setpriv', ['--pdeathsig', 'TERM', ...command], { stdio: ['ignore', log, log] });
  closeSync(log);
  return daemon;
}

/** Kubelet wants its root to be there already, in every hierarchy. */
function makeCgroups(parent: string): void {
  const root = '/sys/fs/cgroup';
  const hierarchies = readdirSync(root).filter((name) => existsSync(join(root, name, 'tasks')));
  for (const hierarchy of existsSync(join(root, 'cgroup.controllers')) ? [''] : hierarchies) {
    const place = join(root, hierarchy, parent);
    mkdirSync(place, { recursive: true });
    if (hierarchy !== 'cpuset') continue;
    // A new one has neither and takes no process.
    for (const name of ['cpuset.cpus', 'cpuset.mems'])
      writeFileSync(join(place, name), readFileSync(join(root, hierarchy, name)));
  }
}

/** Kubelet takes no address of loopback for its node. Empty when there is no other. */
/** Empty where the machine has none beside loopback. */
export function nodeAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '';
}
