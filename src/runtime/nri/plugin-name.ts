/** Plugins are called in the order of their index: `10-example`. */
export interface PluginName {
  /** Two digits. */
  readonly index: string;
  readonly base: string;
}

export function fullName({ index, base }: PluginName): string {
  return `${index}-${base}`;
}

/** Parses the name of a program in the plugin directory. Throws if it is invalid. */
export function parsePluginName(name: string): PluginName {
  const dash = name.indexOf('-');
  if (dash === -1) throw new Error(`invalid plugin name "${name}", idx-pluginname expected`);
  return validatePluginName({ index: name.slice(0, dash), base: name.slice(dash + 1) });
}

/** Throws for an invalid name: it becomes part of a path. */
export function validatePluginName(name: PluginName): PluginName {
  if (!/^\d\d$/.test(name.index)) throw new Error(`invalid plugin index "${name.index}", must be 2 digits`);
  if (!/^[a-zA-Z0-9_.+-]+$/.test(name.base)) throw new Error(`invalid plugin name "${name.base}"`);
  return name;
}
