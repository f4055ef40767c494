import * as v from 'valibot';
import { type Document, parseDocument } from 'yaml';
import { plainYaml, YamlAliasError } from '../../api/decode/plain-yaml.ts';

/** A kubeconfig is invalid. The message names the file and, if known, the field. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';

  constructor(path: string, message: string, options?: ErrorOptions) {
    super(`${path}: ${message}`, options);
  }
}

/** Absent fields have Go's zero values. Unknown fields are ignored: other clients use them. */
const text = v.nullish(v.string(), '');
const flag = v.nullish(v.boolean(), false);
const listOf = <T extends v.GenericSchema>(item: T) => v.nullish(v.array(item), []);

const CLUSTER = v.object({
  server: text,
  'tls-server-name': text,
  'insecure-skip-tls-verify': flag,
  'certificate-authority': text,
  'certificate-authority-data': text,
  'proxy-url': text,
  'disable-compression': flag,
  extensions: listOf(v.object({ name: text, extension: v.unknown() })),
});

const EXEC = v.object({
  apiVersion: text,
  command: text,
  args: listOf(v.string()),
  env: listOf(v.object({ name: text, value: text })),
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: text,
});

const USER = v.object({
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
  as: text,
  'as-uid': text,
  'as-groups': listOf(v.string()),
  'as-user-extra': v.nullish(v.record(v.string(), v.array(v.string()))),
  'auth-provider': v.nullish(v.unknown()),
  exec: v.nullish(EXEC),
});

const DOCUMENT = v.object({
  'current-context': text,
  clusters: listOf(v.object({ name: text, cluster: CLUSTER })),
  users: listOf(v.object({ name: text, user: USER })),
  contexts: listOf(v.object({ name: text, context: v.object({ cluster: text, user: text }) })),
});

export type KubeconfigDocument = v.InferOutput<typeof DOCUMENT>;
export type KubeconfigCluster = v.InferOutput<typeof CLUSTER>;
export type KubeconfigUser = v.InferOutput<typeof USER>;
export type KubeconfigExec = v.InferOutput<typeof EXEC>;

/** Decodes YAML or JSON. Errors contain field names only, since values may be secrets. */
export function decodeKubeconfig(content: string, path: string): KubeconfigDocument {
  const document = parseDocument(content, { prettyErrors: false, logLevel: 'error' }); // a warning would quote a key
  const [error] = document.errors;
  if (error) throw new KubeconfigError(path, `cannot parse YAML: ${error.code} at byte ${error.pos[0]}`);
  const { issues, typed, output } = v.safeParse(DOCUMENT, plainValue(document, path) ?? {});
  if (typed) return output;
  const [issue] = issues;
  const where = v.getDotPath(issue) ?? '';
  throw new KubeconfigError(path, `${where === '' ? '' : `${where}: `}expected ${issue.expected}`);
}

function plainValue(document: Document, path: string): unknown {
  try {
    return plainYaml(document);
  } catch (error) {
    if (!(error instanceof YamlAliasError)) throw error;
    throw new KubeconfigError(path, `cannot parse YAML: ${error.message}`, { cause: error });
  }
}
