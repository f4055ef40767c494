import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import {
  CreateContainerRequest,
  NamespaceMode,
  PodSandboxConfig,
  Protocol,
} from '../../src/cri/generated/runtime-v1.ts';
import type { TestRuntime } from './runtime-fixture.ts';

/** The pods of the crash test: each kind has different resources that could leak. */
export const POD_KINDS = ['plain', 'sharedProcesses', 'hostNetwork', 'ownUsers', 'hostPort'] as const;
export type PodKind = (typeof POD_KINDS)[number];

const OWN_USERS = [{ containerId: 0, hostId: 1_000_000, length: 65_536 }];

/** Adds host port mappings to the test's network. */
export function addPortMappings({ folder }: TestRuntime): void {
  const path = join(folder, 'cni/10-nodelet-test.conflist');
  const network: { readonly plugins: readonly unknown[] } = JSON.parse(readFileSync(path, 'utf8'));
  const plugins = [...network.plugins, { type: 'portmap', capabilities: { portMappings: true } }];
  writeFileSync(path, JSON.stringify({ ...network, plugins }));
}

let hostPorts = 0;

export function crashPod({ folder, cgroupParent }: TestRuntime, name: string, kind: PodKind): PodSandboxConfig {
  const isOnHost = kind === 'hostNetwork';
  return PodSandboxConfig.fromPartial({
    metadata: { name, uid: `uid-${name}`, namespace: 'default' },
    hostname: isOnHost ? '' : name,
    logDirectory: `${folder}/logs/${name}`,
    portMappings:
      kind === 'hostPort'
        ? [{ protocol: Protocol.TCP, containerPort: 80, hostPort: 20_000 + (hostPorts++ % 10_000), hostIp: '' }]
        : [],
    linux: {
      cgroupParent,
      securityContext: {
        namespaceOptions: {
          network: isOnHost ? NamespaceMode.NODE : NamespaceMode.POD,
          pid: kind === 'sharedProcesses' ? NamespaceMode.POD : NamespaceMode.CONTAINER,
          ...(kind === 'ownUsers' && {
            usernsOptions: { mode: NamespaceMode.POD, uids: OWN_USERS, gids: OWN_USERS },
          }),
        },
      },
    },
  });
}

export function crashContainer(
  podSandboxId: string,
  sandboxConfig: PodSandboxConfig,
  { index, hasImageVolume }: { readonly index: number; readonly hasImageVolume: boolean },
): CreateContainerRequest {
  const { namespaceOptions } = sandboxConfig.linux?.securityContext ?? {};
  const volume = { containerPath: '/volume', image: { image: BUSYBOX_IMAGE }, readonly: true };
  return CreateContainerRequest.fromPartial({
    podSandboxId,
    sandboxConfig,
    config: {
      metadata: { name: `c${index}`, attempt: 0 },
      image: { image: BUSYBOX_IMAGE },
      command: ['sleep', '100000'],
      logPath: `c${index}/0.log`,
      mounts: hasImageVolume ? [volume] : [],
      linux: { securityContext: { ...(namespaceOptions ? { namespaceOptions } : {}) } },
    },
  });
}
