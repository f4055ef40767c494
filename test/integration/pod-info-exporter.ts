import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Node, Pod } from '../../src/api/generated/core-v1.ts';
import type { ControlPlane } from './cluster-fixture.ts';

/** Serves what the API server knows of pods and nodes under the names of kube-state-metrics. */
export interface PodInfoExporter {
  /** `127.0.0.1:…` */
  readonly address: string;
  stop(): Promise<void>;
}

export async function startPodInfoExporter(plane: ControlPlane): Promise<PodInfoExporter> {
  const server = createServer((_, response) => {
    exposition(plane).then(
      (text) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function exposition(plane: ControlPlane): Promise<string> {
  const list = async <T>(kind: string): Promise<readonly T[]> =>
    JSON.parse(await plane.kubectl('get', kind, '--all-namespaces', '-ojson')).items;
  const [pods, nodes] = await Promise.all([list<Pod>('pods'), list<Node>('nodes')]);
  const info = pods.map(
    ({ metadata: { name, namespace, uid }, spec: { nodeName } }) =>
      `kube_pod_info{namespace="${namespace}",pod="${name}",uid="${uid}",node="${nodeName}"} 1\n`,
  );
  const capacity = nodes.map(
    ({ metadata: { name }, status }) =>
      `kube_node_status_capacity_pods{node="${name}"} ${status?.capacity?.['pods'] ?? 0}\n`,
  );
  return ['# TYPE kube_pod_info gauge\n', ...info, '# TYPE kube_node_status_capacity_pods gauge\n', ...capacity].join(
    '',
  );
}
