import { dnsLabelErrors, dnsSubdomainErrors } from '../../base/name-syntax.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { CSIVolumeSource, KeyToPath, Pod, Volume } from '../generated/core-v1.ts';
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  oneOf,
  required,
  requiredAnd,
  requiredOneOf,
  tooLong,
} from './field-error.ts';
import { validateClaimTemplate } from './validate-claim.ts';
import type { Volumes } from './validate-mounts.ts';
import { fileMode, noBacksteps } from './validate-paths.ts';
import { validateDownwardFile, validateKeyToPath, validateProjected } from './validate-projected.ts';

type Source = Exclude<keyof Volume, 'name'>;
type Check = (path: string, volume: Volume) => FieldErrors;

const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

/** In the order in which the API server looks for them: the first one is the volume, any other one too many. */
const CHECKS: readonly (readonly [Source, Check])[] = [
  ['emptyDir', checkEmptyDir],
  ['hostPath', checkHostPath],
  ['gitRepo', needs('repository')],
  ['gcePersistentDisk', needs('pdName')],
  ['awsElasticBlockStore', needs('volumeID')],
  ['secret', checkSecret],
  ['nfs', checkNfs],
  ['iscsi', needs('targetPortal', 'iqn')],
  ['glusterfs', needs('endpoints', 'path')],
  ['flocker', needs()],
  ['persistentVolumeClaim', needs('claimName')],
  ['rbd', needs('monitors', 'image')],
  ['cinder', needs('volumeID')],
  ['cephfs', needs('monitors')],
  ['quobyte', needs('registry', 'volume')],
  ['downwardAPI', checkDownwardApi],
  ['fc', needs()],
  ['flexVolume', needs('driver')],
  ['configMap', checkConfigMap],
  ['azureFile', needs('secretName', 'shareName')],
  ['vsphereVolume', needs('volumePath')],
  ['photonPersistentDisk', needs('pdID')],
  ['portworxVolume', needs('volumeID')],
  ['azureDisk', needs('diskName', 'diskURI')],
  ['storageos', needs('volumeName')],
  ['projected', (path, { projected }) => validateProjected(path, projected ?? {})],
  ['scaleIO', needs('gateway', 'system', 'volumeName')],
  ['csi', checkCsi],
  ['ephemeral', checkEphemeral],
  ['image', checkImage],
];

/** Reports what is wrong with the volumes and returns those with nothing wrong, for mounts to refer to. */
export function* validateVolumes({ metadata, spec }: Pod): Generator<ReturnType<typeof required>, Volumes, undefined> {
  const good = new Map<string, Volume>();
  const volumes = spec.volumes ?? [];
  const created = volumes.filter(({ ephemeral }) => ephemeral).map(({ name }) => `${metadata.name}-${name}`);
  for (const [index, volume] of volumes.entries()) {
    const path = `spec.volumes[${index}]`;
    const errors = [...validateVolume(path, volume, metadata.name)];
    yield* errors;
    if (errors.length === 0 && good.has(volume.name)) yield duplicate(`${path}.name`, volume.name);
    else if (errors.length === 0) good.set(volume.name, volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && metadata.name !== '' && created.includes(claim)) {
      const detail = 'must not reference a PVC that gets created for an ephemeral volume';
      yield invalid(`${path}.persistentVolumeClaim.claimName`, claim, detail);
    }
  }
  return good;
}

/** The source of a volume alone. */
export function* validateVolumeSource(source: Source, path: string, volume: Volume): FieldErrors {
  const check = CHECKS.find(([name]) => name === source)?.[1];
  if (check) yield* check(path, volume);
}

function* validateVolume(path: string, volume: Volume, podName: string): FieldErrors {
  const [first, ...others] = CHECKS.filter(([source]) => volume[source] !== undefined);
  if (!first) yield required(path, 'must specify a volume type');
  else yield* first[1](`${path}.${first[0]}`, volume);
  for (const [source] of others) yield forbidden(`${path}.${source}`, 'may not specify more than 1 volume type');
  if (volume.ephemeral && podName !== '' && volume.name !== '') {
    const claim = `${podName}-${volume.name}`;
    const messages = dnsSubdomainErrors(claim).map((message) => `PVC name ${JSON.stringify(claim)}: ${message}`);
    yield* invalidFor(`${path}.name`, volume.name, messages);
  }
  yield* requiredAnd(`${path}.name`, volume.name, dnsLabelErrors);
}

function* checkEmptyDir(path: string, { emptyDir }: Volume): FieldErrors {
  const limit = emptyDir?.sizeLimit;
  if (limit !== undefined && parseQuantity(limit).isNegative()) {
    yield forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity');
  }
}

function* checkHostPath(path: string, { hostPath }: Volume): FieldErrors {
  if (!hostPath?.path) return yield required(`${path}.path`);
  yield* noBacksteps(`${path}.path`, hostPath.path);
  yield* oneOf(`${path}.type`, hostPath.type ?? '', HOST_PATH_TYPES);
}

function* checkSecret(path: string, { secret }: Volume): FieldErrors {
  if (!secret?.secretName) yield required(`${path}.secretName`);
  yield* checkFiles(path, secret ?? {});
}

function* checkConfigMap(path: string, { configMap }: Volume): FieldErrors {
  if (!configMap?.name) yield required(`${path}.name`);
  yield* checkFiles(path, configMap ?? {});
}

interface Files {
  readonly defaultMode?: number | undefined;
  readonly items?: readonly KeyToPath[] | undefined;
}

function* checkFiles(path: string, { defaultMode, items = [] }: Files): FieldErrors {
  yield* fileMode(`${path}.defaultMode`, defaultMode);
  for (const [index, item] of items.entries()) yield* validateKeyToPath(`${path}.items[${index}]`, item);
}

function* checkDownwardApi(path: string, { downwardAPI }: Volume): FieldErrors {
  yield* fileMode(`${path}.defaultMode`, downwardAPI?.defaultMode);
  for (const file of downwardAPI?.items ?? []) yield* validateDownwardFile(path, file);
}

function* checkNfs(path: string, { nfs }: Volume): FieldErrors {
  if (!nfs?.server) yield required(`${path}.server`);
  if (!nfs?.path) yield required(`${path}.path`);
  if (!nfs?.path.startsWith('/')) yield invalid(`${path}.path`, nfs?.path ?? '', 'must be an absolute path');
}

function* checkCsi(path: string, { csi }: Volume): FieldErrors {
  if (csi) yield* validateCsiDriver(`${path}.driver`, csi);
  const secret = csi?.nodePublishSecretRef;
  if (secret && !secret.name) yield required(`${path}.nodePublishSecretRef.name`);
  else if (secret?.name) yield* invalidFor(`${path}.name`, secret.name, dnsSubdomainErrors(secret.name));
}

export function* validateCsiDriver(path: string, { driver }: Pick<CSIVolumeSource, 'driver'>): FieldErrors {
  if (driver === '') return yield required(path);
  if (driver.length > 63) yield tooLong(path, 63);
  yield* invalidFor(path, driver, dnsSubdomainErrors(driver.toLowerCase()));
}

function* checkEphemeral(path: string, { ephemeral }: Volume): FieldErrors {
  const template = ephemeral?.volumeClaimTemplate;
  if (!template) return yield required(`${path}.volumeClaimTemplate`);
  yield* validateClaimTemplate(`${path}.volumeClaimTemplate`, template);
}

function* checkImage(path: string, { image }: Volume): FieldErrors {
  if (!image?.reference) yield required(`${path}.reference`);
  yield* requiredOneOf(`${path}.pullPolicy`, image?.pullPolicy, ['Always', 'IfNotPresent', 'Never']);
}

/** A check that only asks for members that must not be empty. */
function needs(...members: readonly string[]): Check {
  return function* check(path, volume) {
    const source = Object.entries(volume).find(([name]) => path.endsWith(`.${name}`))?.[1];
    const given = new Map<string, unknown>(typeof source === 'object' ? Object.entries(source) : []);
    for (const member of members) if (isEmpty(given.get(member))) yield required(`${path}.${member}`);
  };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}
