import type { PersistentVolumeSpec, Pod, PodSpec } from '../../src/api/generated/core-v1.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import type { Program } from '../../src/host/fake/memory-process.ts';
import { PodEvents } from '../../src/kubelet/events/pod-events.ts';
import { ManifestObjects } from '../../src/kubelet/objects/manifest-objects.ts';
import { NO_OBJECTS } from '../../src/kubelet/sources/source-objects.ts';
import { examplePod } from '../../src/kubelet/sync/config/pod.fixture.ts';
import { PodVolumes } from '../../src/kubelet/volumes/pod-volumes.ts';
import { volumeDeps } from '../../src/kubelet/volumes/volumes.fixture.ts';

/** A pod that mounts the claim `data`, or has it as a device. */
export function claimPod(
  uid: string,
  more: { readonly spec?: Partial<PodSpec>; readonly isBlock?: boolean } = {},
): Pod {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  const use = more.isBlock
    ? { volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] }
    : { volumeMounts: [{ name: 'data', mountPath: '/data' }] };
  const pod = examplePod({ spec: { volumes, ...more.spec }, container: use });
  return { ...pod, metadata: { ...pod.metadata, uid } };
}

/** A standalone node in memory, whose claims are all bound to the persistent volume `pv`. */
export async function persistentMachine(spec: PersistentVolumeSpec) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/k');
  const objects = new ManifestObjects({ onChange: () => undefined });
  objects.set('file', NO_OBJECTS);
  const events = new PodEvents(host.clock);
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason}: ${message}`));
  events.subscribeToObjects(({ involvedObject: { kind, name }, type, reason, message }) =>
    recorded.push(`${kind} ${name}: ${type} ${reason}: ${message}`),
  );
  const volume = { metadata: { name: 'pv' }, spec };
  const claims = {
    wakesPods: true,
    find: async ({ metadata: { namespace } }: Pod, name: string) => ({
      claim: { metadata: { name, namespace }, spec: {} },
      volume,
    }),
  };
  const deps = { ...volumeDeps(host, { rootDir: '/k', objects, events }), claims };
  const calls: string[] = [];
  const install = (name: string, program: Program): void =>
    host.processes.install(name, (context) => {
      calls.push([name, ...context.args].join(' '));
      return program(context);
    });
  const targets = async (): Promise<readonly string[]> =>
    (await host.mounts.list()).map(({ target }) => target).slice(1);
  return { ...host, deps, recorded, calls, install, targets, start: () => new PodVolumes(deps) };
}
