import { mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { ControlPlane } from './cluster-fixture.ts';
import { freePort } from './free-port.ts';

/** A node that is to be, whichever program is its kubelet. */
export interface NodePlan {
  readonly plane: ControlPlane;
  readonly nodeName: string;
  /** Of the CRI runtime. */
  readonly endpoint: string;
  /** Below which it puts the cgroups of pods. It is the runtime's, so it goes with that one. */
  readonly cgroupParent: string;
  /** It asks for certificates of its own, at first as who this file says; absent: it is given them. */
  readonly bootstrapKubeconfig?: string | undefined;
  /** More of the configuration. */
  readonly config?: object;
  /** More flags. */
  readonly flags?: readonly string[];
}

/** Where the kubelet of a node has what is its own. */
export interface NodePlace {
  /** Of its volumes, its logs and its configuration. */
  readonly folder: string;
  readonly logPath: string;
  /** The flags of kubelet. */
  readonly flags: readonly string[];
}

/** Kubelet takes no address of loopback for its node. Empty where the machine has no other. */
export function nodeAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '';
}

/** The file by which the API server takes a client for that node. */
export function nodeKubeconfig(plane: ControlPlane, nodeName: string): string {
  return plane.kubeconfig({ user: `system:node:${nodeName}`, groups: ['system:nodes'] });
}

/** Makes it. A node of that name may have had another kubelet before, which has ended: the next goes on from there. */
export async function prepareNode(plan: NodePlan): Promise<NodePlace> {
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
    // What this machine may have or lack: cgroups of version 1, no systemd.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroupParent,
  };
}

function servingFiles({ plane: { authority }, nodeName }: NodePlan, address: string): object {
  const { certFile, keyFile } = authority.issue({ user: `${nodeName}-server`, addresses: [address] });
  return { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile };
}
