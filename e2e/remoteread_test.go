package e2e_test

const remoteReadConfig = `
remote_read:
  - url: %s
    read_recent: true
`
