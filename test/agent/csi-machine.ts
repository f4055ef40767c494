import type { CSIDriverSpec, PersistentVolumeSpec, Pod, PodSpec, Volume } from '../../src/api/generated/core-v1.ts';
import { createMemoryHost, type MemoryHost } from '../../src/host/fake/memory-host.ts';
import { createMemoryApiServer, type MemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { PodEvents } from '../../src/kubelet/events/pod-events.ts';
import { ClusterClaims } from '../../src/kubelet/objects/cluster-claims.ts';
import { ManifestObjects } from '../../src/kubelet/objects/manifest-objects.ts';
import { NO_OBJECTS } from '../../src/kubelet/sources/source-objects.ts';
import { examplePod } from '../../src/kubelet/sync/config/pod.fixture.ts';
import { csiPlugin } from '../../src/kubelet/volumes/csi/csi-plugin.ts';
import { CsiUses } from '../../src/kubelet/volumes/csi/csi-uses.ts';
import { attachmentName } from '../../src/kubelet/volumes/csi/csi-volume.ts';
import { NodeVolumes } from '../../src/kubelet/volumes/node-volumes.ts';
import { PodVolumes, type PodVolumesDeps } from '../../src/kubelet/volumes/pod-volumes.ts';
import { nodeVolumesOnDisk } from '../../src/kubelet/volumes/release-volumes.ts';
import { volumeDeps } from '../../src/kubelet/volumes/volumes.fixture.ts';
import type { CsiNodeCapability } from '../../src/plugins/csi/csi-drivers.ts';
import { type CsiCall, FakeCsiDriver } from '../../src/plugins/fake/fake-csi-driver.ts';
import { FakeCsiDrivers } from '../../src/plugins/fake/fake-csi-drivers.ts';
import { mountCsiVolumes } from '../../src/plugins/fake/mount-csi-volumes.ts';

export const DRIVER = 'csi.example.com';
export const ROOT = '/k';
export const NODE = 'box';
const never = new AbortController().signal;

export interface CsiMachineOptions {
  /** Absent: `csi.example.com`. */
  readonly driverName?: string;
  readonly capabilities?: readonly CsiNodeCapability[];
  /** `undefined`: the driver has no CSIDriver object. Absent: one with the API server's defaults that attaches nothing. */
  readonly driverObject?: CSIDriverSpec | undefined;
  readonly given?: Partial<PodVolumesDeps>;
  /** Absent: the attach-detach controller attaches volumes. */
  readonly controllerAttaches?: boolean;
}

/** An in-memory node with one CSI driver, and a cluster with claims. */
export interface CsiMachine {
  readonly host: MemoryHost;
  readonly api: MemoryApiServer;
  readonly driver: FakeCsiDriver;
  readonly drivers: FakeCsiDrivers;
  readonly uses: CsiUses;
  readonly deps: PodVolumesDeps;
  readonly volumes: PodVolumes;
  /** `Warning FailedMount: …` */
  readonly events: string[];
  /** A new process of the agent on the same host, with the same driver. */
  restart(): CsiMachine;
}

/** The fields that the API server sets. */
export const DEFAULT_OBJECT: CSIDriverSpec = {
  attachRequired: false,
  podInfoOnMount: false,
  requiresRepublish: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  volumeLifecycleModes: ['Persistent'],
};

export async function csiMachine(options: CsiMachineOptions = {}): Promise<CsiMachine> {
  const host = createMemoryHost();
  const { clock, random, fs, mounts } = host;
  const api = createMemoryApiServer({ clock, random });
  const effects = mountCsiVolumes({ fs, mounts, dataDir: '/driver' });
  const { capabilities, driverName: name = DRIVER } = options;
  const driver = new FakeCsiDriver({ name, clock, effects, ...(capabilities && { capabilities }) });
  installLosetup(host);
  return agentOn(host, api, driver, options);
}

/** Attaches files to loop devices, as sysfs shows them. */
function installLosetup({ processes, fs }: MemoryHost): void {
  let count = 0;
  processes.install('losetup', async ({ args: [option, path = ''] }) => {
    const folder = option === '-f' ? `/sys/block/loop${count++}` : path.replace('/dev', '/sys/block');
    if (option === '-d') await fs.removeTree(folder);
    else {
      await fs.makeDirectory(`${folder}/loop`);
      await fs.writeFile(`${folder}/loop/backing_file`, `${path}\n`);
    }
    return 0;
  });
}

function agentOn(
  host: MemoryHost,
  api: MemoryApiServer,
  driver: FakeCsiDriver,
  options: CsiMachineOptions,
): CsiMachine {
  const { fs } = host;
  const objects = new ManifestObjects({ onChange: () => undefined });
  objects.set('file', NO_OBJECTS);
  const events = new PodEvents(host.clock);
  const recorded: string[] = [];
  events.subscribe((_, { type, reason, message }) => recorded.push(`${type} ${reason}: ${message}`));
  events.subscribeToObjects(({ involvedObject: { kind, name }, type, reason, message }) =>
    recorded.push(`${kind} ${name}: ${type} ${reason}: ${message}`),
  );
  const spec = 'driverObject' in options ? options.driverObject : DEFAULT_OBJECT;
  const find = async (name: string) => (spec && name === driver.name ? { metadata: { name }, spec } : undefined);
  const drivers = new FakeCsiDrivers(driver);
  const uses = new CsiUses();
  const { controllerAttaches } = options;
  const csi = { driverObjects: { find }, api, nodeName: NODE, controllerAttaches };
  const base = volumeDeps(host, { rootDir: ROOT, objects, events });
  const plugins = [...base.plugins, csiPlugin({ ...csi, drivers, uses })];
  const deps = {
    ...base,
    plugins,
    nodeVolumes: new NodeVolumes(() => nodeVolumesOnDisk(ROOT, { fs, plugins })),
    claims: new ClusterClaims(api),
    ...options.given,
  };
  const volumes = new PodVolumes(deps);
  const restart = (): CsiMachine => agentOn(host, api, driver, options);
  return { host, api, driver, drivers, uses, deps, volumes, events: recorded, restart };
}

/** Creates a claim with its volume `pv-NAME` and handle `handle-NAME`, and its VolumeAttachment. */
export async function addClaim(
  { api }: Pick<CsiMachine, 'api'>,
  name: string,
  spec: Partial<PersistentVolumeSpec> = {},
  attachmentMetadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { direct } = api;
  const volumeName = `pv-${name}`;
  const capacity = { storage: '1Gi' };
  const claimKey = { resource: 'persistentvolumeclaims', namespace: 'default', name } as const;
  const claim = await direct.create(
    claimKey,
    { metadata: { name, namespace: 'default' }, spec: { volumeName, resources: { requests: capacity } } },
    never,
  );
  await direct.patch(claimKey, { status: { phase: 'Bound', capacity } }, { subresource: 'status' }, never);
  const csi = { driver: DRIVER, volumeHandle: `handle-${name}` };
  await direct.create(
    { resource: 'persistentvolumes', namespace: '', name: volumeName },
    {
      metadata: { name: volumeName },
      spec: {
        csi,
        accessModes: ['ReadWriteOnce'],
        capacity,
        claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid: claim.metadata.uid },
        ...spec,
      },
    },
    never,
  );
  const attachment = attachmentName(`handle-${name}`, DRIVER, NODE);
  const attachmentKey = { resource: 'volumeattachments', namespace: '', name: attachment } as const;
  await direct.create(
    attachmentKey,
    {
      metadata: { name: attachment },
      spec: { attacher: DRIVER, nodeName: NODE, source: { persistentVolumeName: volumeName } },
    },
    never,
  );
  const status = { attached: true, attachmentMetadata };
  await direct.patch(attachmentKey, { status }, { subresource: 'status' }, never);
}

/** A pod that mounts claims under their own names. */
export function podWithClaims(uid: string, claims: readonly string[], spec: Partial<PodSpec> = {}): Pod {
  return podWithVolumes(
    uid,
    claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    spec,
  );
}

export function podWithVolumes(uid: string, volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return examplePod({ metadata: { uid, name: uid }, spec: { volumes, ...spec }, container: { volumeMounts } });
}

/** `stage handle-a`, `publish handle-a u1`. */
export function callsOf({ driver }: Pick<CsiMachine, 'driver'>): string[] {
  return driver.calls.map(({ method, volumeId, request }: CsiCall) => {
    const verb = method.replace(/^Node|Volume$/g, '').toLowerCase();
    const pod = 'targetPath' in request ? /\/pods\/([^/]+)\//.exec(request.targetPath)?.[1] : undefined;
    return [verb, volumeId, ...(pod === undefined ? [] : [pod])].join(' ');
  });
}

/** Folders that volumes share. */
const SHARED_FOLDER =
  /^\/k\/(plugins(\/kubernetes.io(\/csi(\/(csi.example.com|volumeDevices(\/(staging|publish))?))?)?)?|pods(\/\w+)?)$/;

/** The files, folders and mounts of volumes below the root directory, in order. */
export async function leftOver({ host }: Pick<CsiMachine, 'host'>): Promise<readonly string[]> {
  const mounted = (await host.mounts.list()).map(({ target }) => target).filter((each) => each.startsWith(ROOT));
  const visit = async (folder: string): Promise<string[]> => {
    if (!(await host.fs.stat(folder))) return [];
    const entries = await host.fs.readDirectory(folder);
    const below = entries.map(async ({ name, kind }) => {
      const path = `${folder}/${name}`;
      if (mounted.includes(path)) return [`${path} (mounted)`];
      return kind === 'directory' ? [path, ...(await visit(path))] : [path];
    });
    return (await Promise.all(below)).flat();
  };
  const found = [...(await visit(`${ROOT}/pods`)), ...(await visit(`${ROOT}/plugins`))];
  return found.filter((path) => !SHARED_FOLDER.test(path));
}
