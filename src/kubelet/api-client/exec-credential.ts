import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorText } from '../../base/error-text.ts';
import { parseTime, TimeError } from '../../base/rfc3339.ts';
import type { ExecPlugin } from './client-config.ts';
import { isMap } from './patch-value.ts';

/** The client certificate in PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** The output of a plugin. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly certificate: ClientCertificate | undefined;
  /** Milliseconds since 1970. Absent: until the server rejects it. */
  readonly expiresMs: number | undefined;
}

/** The credentials cannot be used. The message is client-go's. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError';
}

/** The value of `KUBERNETES_EXEC_INFO`. The agent has no interactive standard input. */
export function execInfo({ apiVersion, cluster }: ExecPlugin, authority: string | undefined): string {
  const pem = authority && { 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  const spec = { ...(cluster && { cluster: { ...cluster, ...pem } }), interactive: false };
  return JSON.stringify({ kind: 'ExecCredential', apiVersion, spec });
}

/** Parses the output of a plugin. Throws a `CredentialError` that does not quote the output. */
export function parseExecCredential(output: string, { apiVersion }: ExecPlugin): ExecCredential {
  const credential = parseJsonObject(output);
  const { status } = credential;
  const found = credential['apiVersion'] ?? '';
  if (typeof found !== 'string') throw new CredentialError('decoding stdout: apiVersion is not a string');
  if (found !== apiVersion) {
    throw new CredentialError(
      `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${found}`,
    );
  }
  if (!isMap(status)) throw new CredentialError("exec plugin didn't return a status field");
  const [token, certificate, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((field) =>
    stringField(status, field),
  );
  if (!token && !certificate && !key) throw new CredentialError("exec plugin didn't return a token or cert/key pair");
  if (!certificate !== !key) throw new CredentialError('exec plugin returned only certificate or key, not both');
  const expires = stringField(status, 'expirationTimestamp');
  return {
    token: token || undefined,
    certificate: certificate && key ? checkKeyPair({ certificate, key }) : undefined,
    expiresMs: expires ? parseExpiry(expires) : undefined,
  };
}

function parseExpiry(text: string): number {
  try {
    return parseTime(text);
  } catch (error) {
    if (!(error instanceof TimeError)) throw error;
    throw new CredentialError('decoding stdout: status.expirationTimestamp is not an RFC 3339 time');
  }
}

/** Returns the pair if key and certificate match. */
export function checkKeyPair(pair: ClientCertificate): ClientCertificate {
  try {
    if (new X509Certificate(pair.certificate).checkPrivateKey(createPrivateKey(pair.key))) return pair;
  } catch (error) {
    throw new CredentialError(`failed parsing client key/certificate: ${errorText(error)}`);
  }
  throw new CredentialError('failed parsing client key/certificate: private key does not match public key');
}

function parseJsonObject(output: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(output);
    if (isMap(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error; // a SyntaxError quotes the output
  }
  throw new CredentialError('decoding stdout: not a JSON object');
}

function stringField(status: Readonly<Record<string, unknown>>, field: string): string {
  const value = status[field] ?? '';
  if (typeof value !== 'string') throw new CredentialError(`decoding stdout: status.${field} is not a string`);
  return value;
}
