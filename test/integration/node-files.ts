import { mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { ControlPlane } from './cluster-fixture.ts';
import { freePort } from './free-port.ts';

/** The plan of a node, for either kubelet program. */
export interface NodePlan {
  readonly plane: ControlPlane;
  readonly nodeName: string;
  /** The socket of the CRI runtime. */
  readonly endpoint: string;
  /** The parent cgroup of pods. It belongs to the runtime and is removed with it. */
  readonly cgroupParent: string;
  /** It requests its own certificates, first with the credentials of this file; absent: it is given them. */
  readonly bootstrapKubeconfig?: string | undefined;
  /** Additional configuration. */
  readonly config?: object;
  /** Additional flags. */
  readonly flags?: readonly string[];
}

/** The files of a node's kubelet. */
export interface NodeFiles {
  /** Holds its volumes, logs and configuration. */
  readonly folder: string;
  readonly logPath: string;
  /** The flags of kubelet. */
  readonly flags: readonly string[];
}

/** kubelet does not accept a loopback address for its node. Empty where the machine has no other. */
export function nodeAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '';
}

/** The kubeconfig with which the API server authenticates that node. */
export function nodeKubeconfig(plane: ControlPlane, nodeName: string): string {
  return plane.kubeconfig({ user: `system:node:${nodeName}`, groups: ['system:nodes'] });
}

/** Creates the files. A previous kubelet of that node name must have ended: the next one continues from its state. */
export async function prepareNode(plan: NodePlan): Promise<NodeFiles> {
  const { plane, nodeName, bootstrapKubeconfig } = plan;
  const folder = join(plane.folder, nodeName);
  mkdirSync(folder, { recursive: true });
  const address = nodeAddress();
  const config = join(folder, 'kubelet.json');
  writeFileSync(config, JSON.stringify({ ...(await configuration(plan, folder, address)), ...plan.config }));
  const identity =
    bootstrapKubeconfig === undefined
      ? [`--kubeconfig=${nodeKubeconfig(plane, nodeName)}`]
      : [`--kubeconfig=${join(folder, 'kubelet.conf')}`, `--bootstrap-kubeconfig=${bootstrapKubeconfig}`];
  const flags = [
    `--config=${config}`,
    ...identity,
    `--hostname-override=${nodeName}`,
    `--node-ip=${address}`,
    `--root-dir=${join(folder, 'root')}`,
    `--cert-dir=${join(folder, 'certs')}`,
    ...(plan.flags ?? []),
  ];
  return { folder, logPath: join(folder, 'kubelet.log'), flags };
}

async function configuration(plan: NodePlan, folder: string, address: string): Promise<object> {
  const { plane, endpoint, cgroupParent, bootstrapKubeconfig } = plan;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address,
    port: await freePort(address),
    healthzPort: await freePort(),
    ...(bootstrapKubeconfig === undefined
      ? servingFiles(plan, address)
      : { rotateCertificates: true, serverTLSBootstrap: true }),
    authentication: { x509: { clientCAFile: plane.authority.caFile } },
    containerRuntimeEndpoint: endpoint,
    podLogsDir: join(folder, 'logs'),
    resolvConf: '/dev/null',
    // For machines with cgroup v1 or without systemd.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroupParent,
    makeIPTablesUtilChains: false, // the node has the machine's own network
  };
}

function servingFiles({ plane: { authority }, nodeName }: NodePlan, address: string): object {
  const { certFile, keyFile } = authority.issue({ user: `${nodeName}-server`, addresses: [address] });
  return { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile };
}
