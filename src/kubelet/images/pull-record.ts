import { createHash } from 'node:crypto';

/** The Secret that an image was pulled with, and the hash of its login. */
export interface ImagePullSecret {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly credentialHash: string;
}

/** The service account whose token a credential provider exchanged for the login that an image was pulled with. */
export interface ImagePullServiceAccount {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Who may use an image that was pulled under one name. */
export interface ImagePullCredentials {
  readonly kubernetesSecrets?: readonly ImagePullSecret[];
  readonly kubernetesServiceAccounts?: readonly ImagePullServiceAccount[];
  /** The pull needed no credentials or used those of the node: every pod may use the image. */
  readonly nodePodsAccessible?: boolean;
}

/** Records that kubelet pulled an image and for which pods, by image name without tag and digest. */
export interface ImagePulledRecord {
  readonly lastUpdatedTime: string;
  /** The runtime's reference of the image. */
  readonly imageRef: string;
  readonly credentialMapping?: Readonly<Record<string, ImagePullCredentials>>;
}

const GROUP = 'kubelet.config.k8s.io';
const WRITTEN_VERSION = `${GROUP}/v1beta1`;
const READ_VERSIONS: ReadonlySet<unknown> = new Set([WRITTEN_VERSION, `${GROUP}/v1alpha1`]);

const FILE_NAME = /^sha256-(?!.*\.tmp$)/;

/** The file name of the record of an image or reference. */
export function recordFileName(name: string): string {
  return `sha256-${createHash('sha256').update(name).digest('hex')}`;
}

/** False for leftovers of writes and for foreign files. */
export function isRecordFile(name: string): boolean {
  return FILE_NAME.test(name);
}

export function encodeIntent(image: string): string {
  return `${JSON.stringify({ kind: 'ImagePullIntent', apiVersion: WRITTEN_VERSION, image })}\n`;
}

export function encodePulled({ lastUpdatedTime, imageRef, credentialMapping }: ImagePulledRecord): string {
  const header = { kind: 'ImagePulledRecord', apiVersion: WRITTEN_VERSION };
  return `${JSON.stringify({ ...header, lastUpdatedTime, imageRef, credentialMapping })}\n`;
}

/** The image of a pull intent; `undefined` for text that kubelet does not accept either. */
export function decodeIntent(text: string): string | undefined {
  const fields = decodeFields(text, 'ImagePullIntent');
  const image = fields?.['image'];
  return typeof image === 'string' && isExactly(fields, ['image']) ? image : undefined;
}

export function decodePulled(text: string): ImagePulledRecord | undefined {
  const fields = decodeFields(text, 'ImagePulledRecord');
  if (!isExactly(fields, ['lastUpdatedTime', 'imageRef', 'credentialMapping'])) return undefined;
  const { lastUpdatedTime, imageRef, credentialMapping = {} } = fields;
  if (typeof lastUpdatedTime !== 'string' || typeof imageRef !== 'string') return undefined;
  if (!isMapOf(credentialMapping, isCredentials)) return undefined;
  return { lastUpdatedTime, imageRef, credentialMapping };
}

type Fields = Readonly<Record<string, unknown>>;

function decodeFields(text: string, wanted: string): Fields | undefined {
  const value = parseJson(text);
  if (!isFields(value)) return undefined;
  const { kind, apiVersion, ...fields } = value;
  return kind === wanted && READ_VERSIONS.has(apiVersion) ? fields : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isExactly(fields: Fields | undefined, names: readonly string[]): fields is Fields {
  return fields !== undefined && Object.keys(fields).every((name) => names.includes(name));
}

function isMapOf<T>(value: unknown, isOne: (inner: unknown) => inner is T): value is Readonly<Record<string, T>> {
  return isFields(value) && Object.values(value).every(isOne);
}

function isListOf<T>(value: unknown, isOne: (inner: unknown) => inner is T): value is readonly T[] {
  return Array.isArray(value) && value.every(isOne);
}

function isCredentials(value: unknown): value is ImagePullCredentials {
  const names = ['kubernetesSecrets', 'kubernetesServiceAccounts', 'nodePodsAccessible'];
  if (!isFields(value) || !isExactly(value, names)) return false;
  const { kubernetesSecrets = [], kubernetesServiceAccounts = [], nodePodsAccessible = false } = value;
  return (
    typeof nodePodsAccessible === 'boolean' &&
    isListOf(kubernetesSecrets, (one): one is ImagePullSecret => hasTexts(one, [...COORDINATES, 'credentialHash'])) &&
    isListOf(kubernetesServiceAccounts, (one): one is ImagePullServiceAccount => hasTexts(one, COORDINATES))
  );
}

const COORDINATES = ['uid', 'namespace', 'name'];

function hasTexts(value: unknown, names: readonly string[]): boolean {
  return isFields(value) && isExactly(value, names) && names.every((name) => typeof value[name] === 'string');
}
