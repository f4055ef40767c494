import type { Document } from 'yaml';

/** The aliases of a document cannot be resolved. The message does not name one: it may be a secret that is not quoted. */
export class YamlAliasError extends Error {
  override readonly name = 'YamlAliasError';
}

/** The value of a document without syntax errors. Throws a `YamlAliasError`. */
export function plainYaml(document: Document): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const isExcessive = error.message.startsWith('Excessive');
    throw new YamlAliasError(isExcessive ? 'document contains excessive aliasing' : 'unknown anchor referenced');
  }
}
