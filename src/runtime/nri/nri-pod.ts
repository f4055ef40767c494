import type { SandboxRecord } from '../store/sandbox-record.ts';
import { PodSandbox } from './generated/nri-v1alpha1.ts';
import { nriPodResources } from './nri-resources.ts';

/** Converts a sandbox for plugins. It has no process of its own. */
export function nriPod(sandbox: SandboxRecord): PodSandbox {
  const { config, namespaces } = sandbox;
  const { metadata, linux } = config;
  return PodSandbox.create({
    id: sandbox.id,
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    namespace: metadata?.namespace ?? '',
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
    ips: [...sandbox.ips],
    linux: {
      podOverhead: nriPodResources(linux?.overhead),
      podResources: nriPodResources(linux?.resources),
      cgroupParent: linux?.cgroupParent ?? '',
      namespaces: [
        ['network', namespaces.network],
        ['ipc', namespaces.ipc],
        ['uts', namespaces.uts],
        ['pid', namespaces.pid],
        ['user', namespaces.user?.path],
      ].flatMap(([type, path]) => (path === undefined ? [] : [{ type: type ?? '', path }])),
    },
  });
}
