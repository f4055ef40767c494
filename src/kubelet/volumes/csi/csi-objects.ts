import type { Pod, SecretReference } from '../../../api/generated/core-v1.ts';
import { byCodePoint } from '../../../base/code-point-order.ts';
import { goJson } from '../../../base/go/go-json.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained } from './csi-errors.ts';
import { attachmentName, CSI_PLUGIN, type PersistentCsiVolume } from './csi-volume.ts';
import type { DriverObject } from './driver-object.ts';

type Strings = Readonly<Record<string, string>>;

/** The content of a secret of any namespace; nothing without a reference. */
export async function credentialsOf(
  reference: SecretReference | undefined,
  { csi, objects }: Pick<CsiPluginDeps, 'csi' | 'objects'>,
  signal: AbortSignal,
): Promise<Strings> {
  if (!reference) return {};
  const { namespace = '', name = '' } = reference;
  const { api } = csi;
  const what = `${CSI_PLUGIN}: failed to find the secret ${name} in the namespace ${namespace} with error`;
  const secret = await explained(
    what,
    () => (api ? api.get({ resource: 'secrets', namespace, name }, signal) : objects.secret(namespace, name, signal)),
    signal,
  );
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}

/** What the controller's driver says about the attached volume. Rejects while it is not attached. */
export async function publishContextOf(
  { handle, driver }: PersistentCsiVolume,
  { csi }: Pick<CsiPluginDeps, 'csi'>,
  signal: AbortSignal,
): Promise<Strings> {
  if (!csi.api) return {};
  const name = attachmentName(handle, driver, csi.nodeName);
  const { api } = csi;
  const { metadata, status } = await explained(
    `volume ${handle} has GET error for volume attachment ${name}`,
    () => api.get({ resource: 'volumeattachments', namespace: '', name }, signal),
    signal,
  );
  if (metadata.deletionTimestamp) throw new Error('volume attachment is being deleted');
  if (status?.attached) return status.attachmentMetadata ?? {};
  if (status?.attachError) throw new Error(status.attachError.message ?? '');
  throw new Error(`volume ${handle} is not attached for volume attachment ${name}`);
}

/** The tokens of the pod's service account that the driver asks for, as it gets them in a publish request. */
export async function serviceAccountTokens(
  object: DriverObject,
  pod: Pod,
  { tokens }: Pick<CsiPluginDeps, 'tokens'>,
  signal: AbortSignal,
): Promise<Strings> {
  const requests = object?.spec.tokenRequests ?? [];
  if (requests.length === 0) return {};
  const issued: Record<string, { readonly token: string; readonly expirationTimestamp: string }> = {};
  for (const { audience, expirationSeconds } of requests) {
    const { token, expirationTimestamp } = await tokens.issued(pod, { audience, expirationSeconds }, signal);
    issued[audience] = { token, expirationTimestamp };
  }
  const sorted = Object.entries(issued).sort(([a], [b]) => byCodePoint(a, b));
  return { 'csi.storage.k8s.io/serviceAccount.tokens': goJson(Object.fromEntries(sorted)) };
}
