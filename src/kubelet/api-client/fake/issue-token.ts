import type { TokenRequestSpec } from '../../../api/generated/core-v1.ts';
import { formatTime } from '../../../base/rfc3339.ts';
import type { IssuedToken, ServiceAccountKey } from '../api-server.ts';
import { conflict, invalid, notFound } from './api-errors.ts';
import type { WireObject } from './wire-object.ts';

/** Every namespace has this account, even if it was not created. */
const ACCOUNT = 'default';
const ISSUER = 'https://kubernetes.default.svc';
const DEFAULT_SECONDS = 3600;
const SHORTEST_SECONDS = 600;

/** A token with the claims of a real one, but unsigned. */
export function issueToken(
  account: ServiceAccountKey,
  { audiences = [], boundObjectRef, expirationSeconds = DEFAULT_SECONDS }: TokenRequestSpec,
  find: (resource: 'pods' | 'serviceaccounts', name: string) => WireObject | undefined,
  nowMs: number,
): IssuedToken {
  const { namespace, name } = account;
  checkAccount(account, find('serviceaccounts', name));
  if (expirationSeconds < SHORTEST_SECONDS) {
    throw invalid('TokenRequest.authentication.k8s.io', '', [
      `spec.expirationSeconds: Invalid value: ${expirationSeconds}: may not specify a duration less than 10 minutes`,
    ]);
  }
  const pod = boundObjectRef?.name ? boundPod(boundObjectRef.name, boundObjectRef.uid, namespace, find) : undefined;
  const issued = Math.floor(nowMs / 1000);
  const claims = {
    aud: audiences.length > 0 ? audiences : [ISSUER],
    exp: issued + expirationSeconds,
    iat: issued,
    iss: ISSUER,
    sub: `system:serviceaccount:${namespace}:${name}`,
    'kubernetes.io': { namespace, serviceaccount: { name }, ...(pod && { pod }) },
  };
  const token = [{ alg: 'none' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  return { token: `${token.join('.')}.`, expirationTimestamp: formatTime((issued + expirationSeconds) * 1000) };
}

function checkAccount({ namespace, name, uid: wanted }: ServiceAccountKey, found: WireObject | undefined): void {
  if (!found && name !== ACCOUNT) throw notFound({ resource: 'serviceaccounts', namespace, name });
  const uid = found?.metadata.uid ?? '';
  if (wanted && wanted !== uid) {
    const why = `the UID in the token request (${wanted}) does not match the UID of the service account (${uid})`;
    throw conflict('TokenRequest.authentication.k8s.io', name, why);
  }
}

function boundPod(
  name: string,
  wanted: string | undefined,
  namespace: string,
  find: (resource: 'pods', name: string) => WireObject | undefined,
) {
  const uid = find('pods', name)?.metadata.uid;
  if (uid === undefined) throw notFound({ resource: 'pods', namespace, name });
  if (wanted && wanted !== uid) {
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. `;
    throw conflict('Pod', name, `${why}The object might have been deleted and then recreated`);
  }
  return { name, uid };
}
