/** Plugins are asked in the order of their index: `10-example`. */
export interface PluginName {
  /** Two digits. */
  readonly index: string;
  readonly base: string;
}

export function fullName({ index, base }: PluginName): string {
  return `${index}-${base}`;
}

/** The name of a program in the plugins' folder. Throws when it is none. */
export function parsePluginName(name: string): PluginName {
  const dash = name.indexOf('-');
  if (dash === -1) throw new Error(`invalid plugin name "${name}", idx-pluginname expected`);
  return checkedPluginName({ index: name.slice(0, dash), base: name.slice(dash + 1) });
}

/** Throws when a plugin cannot be called that: its name becomes part of a path. */
export function checkedPluginName(name: PluginName): PluginName {
  if (!/^\d\d$/.test(name.index)) throw new Error(`invalid plugin index "${name.index}", must be 2 digits`);
  if (!/^[a-zA-Z0-9_.+-]+$/.test(name.base)) throw new Error(`invalid plugin name "${name.base}"`);
  return name;
}
