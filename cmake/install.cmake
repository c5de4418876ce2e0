# `cmake --install`: the module and its snippet where the distribution's nginx looks for them (whatever the prefix), the command in bin.
set(NGINX_MODULES /usr/lib/nginx/modules CACHE PATH "where nginx looks for modules")
set(NGINX_SNIPPETS /usr/share/nginx/modules-available CACHE PATH "where the distribution keeps the snippets that load modules")
file(WRITE ${CMAKE_BINARY_DIR}/mod-http-fairway.conf "load_module modules/ngx_http_fairway_module.so;\n")
install(TARGETS ngx_http_fairway_module LIBRARY DESTINATION ${NGINX_MODULES})
install(FILES ${CMAKE_BINARY_DIR}/mod-http-fairway.conf DESTINATION ${NGINX_SNIPPETS})
install(TARGETS fairway RUNTIME DESTINATION bin)
install(FILES ${CMAKE_SOURCE_DIR}/docs/fairway.1 TYPE MAN RENAME man1/fairway.1)
install(FILES ${CMAKE_SOURCE_DIR}/src/cli/completion.bash DESTINATION share/bash-completion/completions RENAME fairway)
