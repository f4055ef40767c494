import type { Part } from '../base/supervise.ts';
import { DeviceManager } from '../kubelet/device-manager/device-manager.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { runningContainers } from '../kubelet/pod/observed-pod.ts';
import { cleanPluginFolder } from '../plugins/device/clean-folder.ts';
import { DevicePluginRegistration } from '../plugins/device/device-registration.ts';
import type { ServeRegistration } from '../plugins/device/serve-registration.ts';
import type { PluginHandler } from '../plugins/registration/plugin-handler.ts';
import type { AgentParts } from './agent.ts';
import type { PodSignals } from './pod-signals.ts';

export interface DeviceBuildDeps {
  readonly observed: Pick<ObservedPods, 'get'>;
  readonly signals: PodSignals;
}

/** Device plugins and their devices. */
export interface AgentDevices {
  readonly manager: DeviceManager;
  /** Of plugins whose sockets are in `plugins_registry`. */
  readonly handler: PluginHandler;
  /** kubelet's health check `device-plugin`: why plugins cannot register, `undefined` while they can. */
  unhealthyReason(): string | undefined;
  readonly parts: readonly Part[];
}

export async function buildDeviceManager(
  { host, log, settings, serveDeviceRegistration, connectDevicePlugins }: AgentParts,
  { observed, signals }: DeviceBuildDeps,
  life: AbortSignal,
): Promise<AgentDevices> {
  const { fs, clock } = host;
  const folder = `${settings.rootDir}/device-plugins`;
  const manager = await DeviceManager.start({
    fs,
    clock,
    log,
    folder,
    isRunning: (uid) => runningContainers(observed.get(uid)).length > 0,
    onPodChanged: (uid) => {
      if (settings.resourceHealthStatus ?? true) signals.podResourceHealth.raise(uid);
    },
  });
  connectDevicePlugins?.(manager);
  const registration = new DevicePluginRegistration({ clock, log, receiver: manager, folder }, life);
  let failure: string | undefined;
  const serve = async (listen: ServeRegistration, signal: AbortSignal): Promise<void> => {
    try {
      await cleanPluginFolder(folder, fs);
      const register = registration.registerByRequest.bind(registration);
      await listen(`${folder}/kubelet.sock`, register, () => (failure = undefined), signal);
    } catch (error) {
      failure = `${UNHEALTHY}: ${String(error)}`;
      throw error;
    }
  };
  return {
    manager,
    handler: registration,
    unhealthyReason: () => failure,
    parts: serveDeviceRegistration
      ? [{ name: 'device plugin registration', run: (until) => serve(serveDeviceRegistration, until), isEndless: true }]
      : [],
  };
}

const UNHEALTHY =
  'device registration error: device plugin registration gRPC server failed and no device plugins can register';
