import type { TokenRequestSpec } from '../../api/generated/core-v1.ts';
import type { ServiceAccountKey } from '../api-client/api-server.ts';

/** Identifies a token without secrets: kubelet shows it in a message, in Go's syntax. */
export function tokenKey({ namespace, name, uid: accountUid }: ServiceAccountKey, spec: TokenRequestSpec): string {
  const { audiences, expirationSeconds = 0, boundObjectRef = {} } = spec;
  const audienceText = audiences ? `[]string{${audiences.map(quoted).join(', ')}}` : '[]string(nil)';
  const { kind, apiVersion, name: boundName, uid } = boundObjectRef;
  const fields = Object.entries({ Kind: kind, APIVersion: apiVersion, Name: boundName, UID: uid });
  const bound = `v1.BoundObjectReference{${fields.map(([field, value]) => `${field}:${quoted(value)}`).join(', ')}}`;
  return [quoted(name), quoted(namespace), audienceText, String(expirationSeconds), bound, quoted(accountUid)].join(
    '/',
  );
}

function quoted(text = ''): string {
  return JSON.stringify(text);
}
