import { Buffer } from 'node:buffer';
import type { Pod, PodCertificateProjection, PodCertificateRequest } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { Semaphore } from '../../base/semaphore.ts';
import { KEY_TYPES, type KeyType, type SigningKey, type SigningKeys } from '../../host/signing-keys.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { stubCertificateRequest } from '../certificates/certificate-request.ts';

export interface CreateRequestDeps {
  readonly api: Pick<ApiServer, 'get' | 'create'>;
  readonly keys: Pick<SigningKeys, 'generateOfType'>;
  /** Limits the keys that are generated at once: they occupy the threads that files need too. */
  readonly keyGeneration: Semaphore;
  readonly nodeName: string;
  /** `undefined` while the node object is not known. */
  readonly nodeUid: () => string | undefined;
}

export interface CreatedRequest {
  readonly request: PodCertificateRequest;
  /** In PEM. */
  readonly key: string;
}

/** Creates a PodCertificateRequest with a new key. Rejects with kubelet's message. */
export async function createPodCertificateRequest(
  pod: Pod,
  projection: PodCertificateProjection,
  deps: CreateRequestDeps,
  signal: AbortSignal,
): Promise<CreatedRequest> {
  const { namespace } = pod.metadata;
  const { serviceAccountName = '' } = pod.spec;
  const accountKey = { resource: 'serviceaccounts', namespace, name: serviceAccountName } as const;
  const account = await during('while fetching service account', deps.api.get(accountKey, signal));
  const nodeUid = deps.nodeUid();
  if (nodeUid === undefined) {
    throw new Error(`while getting node object from local cache: node ${JSON.stringify(deps.nodeName)} not found`);
  }
  const key = await during('while generating keypair', generateKey(projection.keyType, deps, signal));
  const wanted = requestObject(pod, projection, {
    serviceAccountUID: account.metadata.uid ?? '',
    nodeName: deps.nodeName,
    nodeUID: nodeUid,
    stubPKCS10Request: Buffer.from(stubCertificateRequest(key)).toString('base64'),
  });
  const requestKey = { resource: 'podcertificaterequests', namespace, name: '' } as const;
  const request = await during('while creating on API', deps.api.create(requestKey, wanted, signal));
  return { request, key: key.pem };
}

async function generateKey(
  type: string,
  { keys, keyGeneration }: CreateRequestDeps,
  signal: AbortSignal,
): Promise<SigningKey> {
  if (!isKeyType(type)) throw new Error(`unknown key type ${JSON.stringify(type)}`);
  return keyGeneration.run(() => keys.generateOfType(type), signal);
}

function isKeyType(type: string): type is KeyType {
  return KEY_TYPES.some((each) => each === type);
}

type NodeFacts = Pick<
  PodCertificateRequest['spec'],
  'serviceAccountUID' | 'nodeName' | 'nodeUID' | 'stubPKCS10Request'
>;

function requestObject(
  { metadata, spec }: Pod,
  { signerName, maxExpirationSeconds, userAnnotations }: PodCertificateProjection,
  facts: NodeFacts,
): PodCertificateRequest {
  const { namespace, name, uid } = metadata;
  return {
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'PodCertificateRequest',
    metadata: {
      name: '',
      namespace,
      generateName: 'req-',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: {
      signerName,
      podName: name,
      podUID: uid,
      serviceAccountName: spec.serviceAccountName ?? '',
      maxExpirationSeconds,
      unverifiedUserAnnotations: userAnnotations,
      ...facts,
    },
  };
}

async function during<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${what}: ${errorText(error)}`, { cause: error });
  }
}
