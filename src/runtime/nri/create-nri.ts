import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { ConnectedPrograms } from '../../host/connected-programs.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Network } from '../../host/network.ts';
import type { Random } from '../../host/random.ts';
import type { NriSettings } from '../runtime-settings.ts';
import { Adaptation } from './adaptation.ts';
import { type Nri, type NriRuntime, NriSocketError } from './nri.ts';
import type { RuntimeIdentity } from './register-plugin.ts';
import type { InjectCdiDevices } from './relay-create.ts';
import { servePlugins } from './serve-plugins.ts';

export interface NriDeps {
  readonly settings: NriSettings;
  readonly runtime: NriRuntime;
  /** What plugins are told about us. */
  readonly identity: RuntimeIdentity;
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: FileSystem;
  readonly network: Network;
  readonly connectedPrograms: ConnectedPrograms;
  readonly log: Log;
  /** Absent: plugins that ask for CDI devices are refused. */
  readonly injectCdiDevices?: InjectCdiDevices;
}

export function createNri(deps: NriDeps): Nri {
  const adaptation = new Adaptation(deps);
  const listening = Promise.withResolvers<void>();
  listening.promise.catch(() => {}); // `run` rejects too
  return {
    runPodSandbox: (pod, signal) => adaptation.runPodSandbox(pod, signal),
    updatePodSandbox: (pod, update, signal) => adaptation.updatePodSandbox(pod, update, signal),
    postUpdatePodSandbox: (pod, signal) => adaptation.tellPod('postUpdatePodSandbox', pod, signal),
    stopPodSandbox: (pod, signal) => adaptation.stopPodSandbox(pod, signal),
    removePodSandbox: (pod, signal) => adaptation.removePodSandbox(pod, signal),
    createContainer: (pod, container, spec, signal) => adaptation.createContainer(pod, container, spec, signal),
    postCreateContainer: (pod, container, signal) =>
      adaptation.tellContainer('postCreateContainer', pod, container, signal),
    startContainer: (pod, container, signal) => adaptation.startContainer(pod, container, signal),
    postStartContainer: (pod, container, signal) =>
      adaptation.tellContainer('postStartContainer', pod, container, signal),
    updateContainer: (pod, container, resources, signal) =>
      adaptation.updateContainer(pod, container, resources, signal),
    postUpdateContainer: (pod, container, signal) =>
      adaptation.tellContainer('postUpdateContainer', pod, container, signal),
    stopContainer: (pod, container, signal) => adaptation.stopContainer(pod, container, signal),
    removeContainer: (pod, container, signal) => adaptation.removeContainer(pod, container, signal),
    run: async (signal) => {
      try {
        await servePlugins({ ...deps, onListening: listening.resolve }, adaptation, signal);
      } catch (error) {
        listening.reject(error);
        throw error;
      } finally {
        listening.reject(new NriSocketError('NRI ended before it had its socket'));
        await adaptation.settled();
      }
    },
    listening: listening.promise,
  };
}
