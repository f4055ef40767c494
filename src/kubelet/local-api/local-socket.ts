/** Where the agent of a state folder answers its commands. */
export function localSocket(stateDir: string): string {
  return `${stateDir}/nodelet.sock`;
}
