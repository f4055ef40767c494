import { Adaptation } from './adaptation.ts';
import { type Nri, type NriRuntime, NriSocketError } from './nri.ts';
import type { InjectCdiDevices } from './relay-create.ts';
import { type ServeDeps, servePlugins } from './serve-plugins.ts';

export interface NriDeps extends Omit<ServeDeps, 'onListening'> {
  readonly runtime: NriRuntime;
  /** Absent: CDI devices of plugins are rejected. */
  readonly injectCdiDevices?: InjectCdiDevices;
}

export function createNri(deps: NriDeps): Nri {
  const adaptation = new Adaptation(deps);
  const listening = Promise.withResolvers<void>();
  listening.promise.catch(() => {}); // `run` rejects too
  return {
    runPodSandbox: (pod, signal) => adaptation.runPodSandbox(pod, signal),
    updatePodSandbox: (pod, update, signal) => adaptation.updatePodSandbox(pod, update, signal),
    postUpdatePodSandbox: (pod, signal) => adaptation.notifyPod('postUpdatePodSandbox', pod, signal),
    stopPodSandbox: (pod, signal) => adaptation.stopPodSandbox(pod, signal),
    removePodSandbox: (pod, signal) => adaptation.removePodSandbox(pod, signal),
    createContainer: (pod, container, spec, signal) => adaptation.createContainer(pod, container, spec, signal),
    postCreateContainer: (pod, container, signal) =>
      adaptation.notifyContainer('postCreateContainer', pod, container, signal),
    startContainer: (pod, container, signal) => adaptation.startContainer(pod, container, signal),
    postStartContainer: (pod, container, signal) =>
      adaptation.notifyContainer('postStartContainer', pod, container, signal),
    updateContainer: (pod, container, resources, signal) =>
      adaptation.updateContainer(pod, container, resources, signal),
    postUpdateContainer: (pod, container, signal) =>
      adaptation.notifyContainer('postUpdateContainer', pod, container, signal),
    stopContainer: (pod, container, signal) => adaptation.stopContainer(pod, container, signal),
    removeContainer: (pod, container, signal) => adaptation.removeContainer(pod, container, signal),
    run: async (signal) => {
      try {
        await servePlugins({ ...deps, onListening: listening.resolve }, adaptation, signal);
      } catch (error) {
        listening.reject(error);
        throw error;
      } finally {
        listening.reject(new NriSocketError('NRI ended before its socket was ready'));
        await adaptation.waitForEvictions();
      }
    },
    listening: listening.promise,
  };
}
