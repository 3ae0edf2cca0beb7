// What is loaded by itself, with one name: bundlers spell out all names of such a module.
export { makeShared as default } from "./shared";
