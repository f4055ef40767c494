import { defaultPod } from '../../../api/defaults/default-pod.ts';
import type { Secret } from '../../../api/generated/core-v1.ts';
import { qosClass } from '../../../api/qos.ts';
import { formatTime } from '../../../base/rfc3339.ts';
import type { Clock } from '../../../host/clock.ts';
import type { Random } from '../../../host/random.ts';
import { ApiError, type ObjectKey } from '../api-server.ts';
import { badRequest, invalid } from './api-errors.ts';
import { resourceFacts } from './resource-facts.ts';
import { fromWire, toWire, type WireObject } from './wire-object.ts';

const NAME_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const LONGEST_GENERATED_PREFIX = 58;
const GENERATED_LETTERS = 5;

/** A created object as the server stores it: with name, UID and defaults. */
export function newObject(key: ObjectKey, given: WireObject, clock: Clock, random: Random): WireObject {
  const { apiVersion, kind, qualifiedKind, isNamespaced } = resourceFacts(key.resource);
  const { metadata } = given;
  const name = metadata.name || generatedName(metadata.generateName ?? '', random);
  if (name === '') {
    throw invalid(qualifiedKind, '', ['metadata.name: Required value: name or generateName is required']);
  }
  if (metadata.resourceVersion) {
    throw new ApiError('InternalError', 'resourceVersion should not be set on objects to be created');
  }
  const object = toWire({
    ...given,
    apiVersion,
    kind,
    metadata: {
      ...metadata,
      name,
      namespace: isNamespaced ? requestNamespace(key, metadata.namespace) : undefined,
      uid: randomUid(random),
      creationTimestamp: formatTime(clock.now()),
      deletionTimestamp: undefined,
      deletionGracePeriodSeconds: undefined,
      selfLink: undefined,
    },
  });
  return withFirstValues(key, object);
}

/** The namespace of the request. The object's own namespace must be the same or empty. */
export function requestNamespace(key: ObjectKey, inObject: string | undefined): string {
  if (inObject && inObject !== key.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return key.namespace;
}

/** Moves `stringData` to `data`, as the API does. */
export function withSecretData(secret: Secret): Secret {
  const { stringData = {}, ...rest } = secret;
  const encoded = Object.entries(stringData).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
  const data = { ...rest.data, ...Object.fromEntries(encoded) };
  return { ...rest, ...(Object.keys(data).length > 0 && { data }) };
}

const CSI_DRIVER_DEFAULTS = {
  attachRequired: true,
  podInfoOnMount: false,
  storageCapacity: false,
  volumeLifecycleModes: ['Persistent'],
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  requiresRepublish: false,
  seLinuxMount: false,
};

function withFirstValues({ resource }: ObjectKey, object: WireObject): WireObject {
  switch (resource) {
    case 'pods': {
      const pod = defaultPod(fromWire('pods', object));
      const status = { phase: 'Pending', qosClass: qosClass(pod) };
      return toWire({ ...pod, metadata: { ...pod.metadata, generation: 1 }, status });
    }
    case 'nodes': {
      const node = fromWire('nodes', object);
      const { capacity, allocatable = capacity } = node.status ?? {};
      return node.status ? toWire({ ...node, status: { ...node.status, allocatable } }) : object;
    }
    case 'services':
      return toWire({ ...object, status: { loadBalancer: {} } });
    case 'certificatesigningrequests':
    case 'resourceclaims':
    case 'podcertificaterequests':
      return toWire({ ...object, status: {} });
    case 'persistentvolumeclaims':
    case 'persistentvolumes':
      return toWire({ ...object, status: { phase: 'Pending' } });
    case 'csidrivers': {
      const driver = fromWire('csidrivers', object);
      return toWire({ ...driver, spec: { ...CSI_DRIVER_DEFAULTS, ...driver.spec } });
    }
    case 'volumeattachments':
      return toWire({ ...object, status: { attached: false } });
    case 'secrets':
      return toWire({ type: 'Opaque', ...withSecretData(fromWire('secrets', object)) });
    case 'leases':
    case 'events':
    case 'configmaps':
    case 'serviceaccounts':
    case 'runtimeclasses':
    case 'csinodes':
    case 'clustertrustbundles':
    case 'resourceslices':
      return object;
  }
}

function generatedName(prefix: string, random: Random): string {
  if (prefix === '') return '';
  const letter = (): string => NAME_LETTERS.charAt(Math.floor(random.fraction() * NAME_LETTERS.length));
  return prefix.slice(0, LONGEST_GENERATED_PREFIX) + Array.from({ length: GENERATED_LETTERS }, letter).join('');
}

/** A version 4 UUID. */
function randomUid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
