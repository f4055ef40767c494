import type { Part } from '../base/supervise.ts';
import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import {
  type CsiDriverObjects,
  NO_CSI_DRIVER_OBJECTS,
  WatchedCsiDriverObjects,
} from '../kubelet/csi-node/csi-driver-objects.ts';
import { CsiNodeObject } from '../kubelet/csi-node/csi-node-object.ts';
import { CsiNodeUpdates } from '../kubelet/csi-node/csi-node-updates.ts';
import type { CsiDrivers } from '../plugins/csi/csi-drivers.ts';
import { CsiRegistration, NO_CSI_NODE_RECORD } from '../plugins/csi/csi-registration.ts';
import { DraRegistration } from '../plugins/dra/dra-registration.ts';
import type { PluginHandler } from '../plugins/registration/plugin-handler.ts';
import { PluginManager } from '../plugins/registration/plugin-manager.ts';
import type { AgentParts } from './agent.ts';

/** The CSINode object of this node; `undefined` for an agent that maintains no node object. */
export function buildCsiNode({ apiServer, node, host, log, settings }: AgentParts): CsiNodeObject | undefined {
  if (!apiServer || !node) return undefined;
  const { clock, random } = host;
  const { nodeName } = settings;
  return new CsiNodeObject({ nodeName, api: withApiTimeouts(apiServer, { clock, random }), clock, random, log });
}

/** What plugs into the node. */
export interface AgentPlugins {
  readonly csiDrivers: CsiDrivers;
  readonly csiDriverObjects: CsiDriverObjects;
  /**
   * Writes anew how many volumes of the driver this node can have: called when a volume cannot be attached because it has
   * too many. Does nothing without a node object.
   */
  refreshCsiNode(driverName: string, signal: AbortSignal): Promise<void>;
  readonly parts: readonly Part[];
}

export interface PluginBuildDeps {
  readonly csiNode: CsiNodeObject | undefined;
  /** The handler of device plugins; absent: they are refused. */
  readonly devices?: PluginHandler | undefined;
  /** Absent: DRA drivers register, and no pod uses them. */
  readonly dra?: { readonly handler: PluginHandler } | undefined;
  /** Resolves with the first answer of the API server about the node. */
  readonly node: { readonly known: Promise<void> };
}

export function buildPlugins(
  agent: AgentParts,
  { csiNode, node, devices, dra }: PluginBuildDeps,
  life: AbortSignal,
): AgentPlugins {
  const { host, log, settings } = agent;
  const { clock, fs } = host;
  const objects = buildCsiDriverObjects(agent);
  const registration = new CsiRegistration({ clock, log, record: csiNode ?? NO_CSI_NODE_RECORD });
  const handlers = new Map<string, PluginHandler>([
    ['CSIPlugin', registration],
    ...(devices ? [['DevicePlugin', devices] as const] : []),
    ['DRAPlugin', dra?.handler ?? new DraRegistration({ clock, log, onUsable: () => undefined })],
  ]);
  const manager = new PluginManager(settings.rootDir, { fs, clock, log, handlers }, life);
  const updates = csiNode && new CsiNodeUpdates({ drivers: registration, objects, record: csiNode, clock, log });
  return {
    csiDrivers: agent.csiDrivers ?? registration,
    csiDriverObjects: objects,
    refreshCsiNode: async (driverName, signal) => updates?.refresh(driverName, signal),
    parts: [
      ...(objects instanceof WatchedCsiDriverObjects
        ? [{ name: 'CSIDriver watch', run: (signal: AbortSignal) => objects.run(signal), isEndless: true }]
        : []),
      ...(csiNode ? [{ name: 'CSINode', run: (signal: AbortSignal) => csiNode.initialize(node.known, signal) }] : []),
      ...(updates ? [{ name: 'CSINode updates', run: (signal: AbortSignal) => updates.run(signal) }] : []),
      { name: 'plugin manager', run: (signal) => manager.run(signal), isEndless: true },
    ],
  };
}

function buildCsiDriverObjects({ apiServer, host, log }: AgentParts): CsiDriverObjects {
  if (!apiServer) return NO_CSI_DRIVER_OBJECTS;
  const { clock, random } = host;
  return new WatchedCsiDriverObjects({ api: withApiTimeouts(apiServer, { clock, random }), clock, random, log });
}
